#!/usr/bin/env bash
# Syntax of every shell and Python script, and shellcheck where it is installed. First shows that it can fail.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

shell_ok() { bash -n "$1" && if have shellcheck; then shellcheck --severity=warning --source-path=. --external-sources "$1"; fi; }
python_ok() { python3 -c 'import ast, sys; ast.parse(open(sys.argv[1], encoding="utf-8").read(), sys.argv[1])' "$1"; }

# A script that is run must be executable; one that is only sourced has no interpreter line.
mode_ok() {
    local first
    read -r first < "$1" || true
    if [[ $first == '#!'* && ! -x $1 ]]; then
        say "$1: has an interpreter line but is not executable" >&2
        return 1
    fi
}

self_test() {
    local folder
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' RETURN
    printf '#!/usr/bin/env bash\nif true; then\n' > "$folder/broken.sh"
    printf 'def broken(:\n' > "$folder/broken.py"
    ! shell_ok "$folder/broken.sh" 2> /dev/null || die "self-test: broken shell was not refused"
    ! python_ok "$folder/broken.py" 2> /dev/null || die "self-test: broken Python was not refused"
    ! mode_ok "$folder/broken.sh" 2> /dev/null || die "self-test: a script without its mode was not refused"
}

self_test
count=0
failed=
while IFS= read -r -d '' file; do
    [[ -f $file ]] || continue
    case $file in
        *.sh | .ci/run) check=shell_ok ;;
        *.py) check=python_ok ;;
        *) continue ;;
    esac
    count=$((count + 1))
    { "$check" "$file" && mode_ok "$file"; } || failed=yes
done < <(git ls-files -z --cached --others --exclude-standard)
[[ -z $failed ]] || die "scripts: see above"
say "scripts: $count in order"
