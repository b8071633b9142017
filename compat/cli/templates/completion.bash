_compat() {
  local IFS=$'\n'
  COMPREPLY=($(compat --complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
  [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default
}
complete -F _compat compat compat-matrix
