"""`karmadactl completion`: scripts that ask the program itself what can follow."""

from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.session import Session

BASH = """# bash completion for {program}
__{name}_complete() {{
    local words=("${{COMP_WORDS[@]:1:COMP_CWORD}}") candidate
    # Bash takes = and : for ends of words; the program wants words as they were typed.
    local line="${{COMP_LINE:0:COMP_POINT}}" typed
    typed="${{line##*[[:space:]]}}"
    local start="${{line%"$typed"}}"
    read -ra words <<< "$start"
    words=("${{words[@]:1}}" "$typed")
    local prefix="${{typed%"${{COMP_WORDS[COMP_CWORD]}}"}}"
    case "${{COMP_WORDS[COMP_CWORD]}}" in =|:) prefix="$typed" ;; esac
    COMPREPLY=()
    while IFS= read -r candidate; do
        [[ -n "$candidate" ]] && COMPREPLY+=("${{candidate#"$prefix"}}")
    done < <({program} __complete "${{words[@]}}" 2>/dev/null)
    [[ ${{#COMPREPLY[@]}} -eq 1 && "${{COMPREPLY[0]}}" == *[=/] ]] && compopt -o nospace 2>/dev/null
    return 0
}}
complete -o default -F __{name}_complete {program}
"""
ZSH = """#compdef {program}
_{name}() {{
    local -a candidates begun whole
    candidates=("${{(@f)$({program} __complete "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
    # What ends so goes on; everything else is a word of its own. Without candidates it is about files.
    begun=("${{(@M)candidates:#*[=/]}}")
    whole=("${{(@)candidates:#*[=/]}}")
    [[ -z "${{candidates[1]}}" ]] && {{ _files; return; }}
    (( ${{#begun}} )) && compadd -Q -S '' -- "${{begun[@]}}"
    (( ${{#whole}} )) && compadd -Q -- "${{whole[@]}}"
}}
compdef _{name} {program}
[[ "${{funcstack[1]}}" == _{name} ]] && _{name}
"""
FISH = """# fish completion for {program}
function __{name}_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ({program} __complete $words[2..-1] 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c {program} -f -a '(__{name}_complete)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


async def run(session: Session, flags: Values) -> None:
    """Print the script of a shell."""
    if len(flags.arguments) != 1:
        raise CommandError("shell not specified: one of bash, zsh, fish")
    script = SCRIPTS.get(flags.arguments[0])
    if script is None:
        raise CommandError(f'unsupported shell type "{flags.arguments[0]}": one of bash, zsh, fish')
    program = session.program.replace("kubectl karmada", "kubectl-karmada")
    session.out.write(script.format(program=program, name=program.replace("-", "_")))


COMMAND = Command(
    "completion",
    "SHELL",
    "Print the completion script of a shell: bash, zsh or fish.",
    run,
    examples="""
# For this shell
source <(karmadactl completion bash)
# For every new one
karmadactl completion bash > /etc/bash_completion.d/karmadactl
karmadactl completion zsh > "${fpath[1]}/_karmadactl"
karmadactl completion fish > ~/.config/fish/completions/karmadactl.fish
""",
    offline=True,
)
