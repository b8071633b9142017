function __compat
  compat --complete fish (commandline -cp) 2>/dev/null
end
complete -c compat -f -a '(__compat)'
complete -c compat-matrix -f -a '(__compat)'
