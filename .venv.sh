# Sourced by ./pliant and ./test: makes .venv on first use and installs again when pyproject.toml has changed.
unset PYTHONDONTWRITEBYTECODE # packages come without bytecode, and each process would make it anew
ready() { # ready EXTRAS STAMP
    local venv="$here/.venv" stamp="$here/.venv/.$2-installed"
    if [ -x "$venv/bin/python" ] && [ -f "$stamp" ] && cmp -s "$stamp" "$here/pyproject.toml"; then return; fi
    local python
    for python in python3 python; do
        if command -v "$python" > /dev/null && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then break; fi
        python=""
    done
    if [ -z "$python" ]; then echo "pliant needs Python 3.10 or newer, and found none." >&2; exit 1; fi
    if [ ! -x "$venv/bin/python" ]; then
        echo "Making $venv with $("$python" --version) ..." >&2
        if ! "$python" -m venv "$venv"; then
            rm -rf "$venv"
            echo "Python's venv module does not work here (Debian, Ubuntu: apt install python3-venv)." >&2
            exit 1
        fi
        # a new pip finds what is needed in half of the time
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade pip > /dev/null 2>&1 || true
    fi
    echo "Installing pliant and what it needs (once; a minute or two) ..." >&2
    # Bytecode is left to first use: most of what it would be made of is never imported.
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --editable "$here$1"
    cp "$here/pyproject.toml" "$stamp"
}
