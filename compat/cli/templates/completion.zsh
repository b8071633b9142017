#compdef compat compat-matrix
_compat() {
  local -a found
  found=(${(f)"$(compat --complete zsh "${(j: :)${(@q)words[1,CURRENT]}}" 2>/dev/null)"})
  if (( $#found )); then compadd -a found; else _files; fi
}
compdef _compat compat compat-matrix
