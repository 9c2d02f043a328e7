import { wordsOf } from './command.ts';
import type { CommandRow } from './command.ts';
import { misuse } from './refusal.ts';

/**
 * What can follow the words that are already typed. The outer key is these words; the inner map has
 * each possible next word or option with its description.
 */
type Completions = ReadonlyMap<string, ReadonlyMap<string, string>>;

const scripts: Readonly<Record<string, (completions: Completions) => string>> = {
  bash: createBashScript,
  zsh: createZshScript,
  fish: createFishScript,
};

/**
 * Creates a script that completes the words and options of all commands in a shell. The script
 * contains the whole table of commands, so that completing does not start a process.
 *
 * @throws Refusal for a shell that is not bash, zsh or fish.
 */
export function createCompletion(shell: string, rows: readonly CommandRow[]): string {
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined) throw misuse('Completion is for bash, zsh or fish.');
  return script(listCompletions(rows));
}

function listCompletions(rows: readonly CommandRow[]): Completions {
  const completions = new Map<string, Map<string, string>>();
  const add = (path: string, word: string, about: string) => {
    const words = completions.get(path) ?? new Map<string, string>();
    if (!words.has(word)) words.set(word, about);
    completions.set(path, words);
  };
  for (const row of rows) {
    const words = wordsOf(row);
    for (const [index, word] of words.entries()) {
      const isLast = index === words.length - 1;
      add(words.slice(0, index).join(' '), word, isLast ? row.about : '');
    }
    for (const [flags, about] of row.options ?? []) {
      add(words.join(' '), flags.split(' ', 1)[0] ?? '', about);
    }
    add(words.join(' '), '--help', 'print help');
  }
  return completions;
}

/** One `case` branch for each command path. Command words and option names need no quoting. */
function createCases(completions: Completions): string {
  return [...completions]
    .map(([path, words]) => `    '${path}') candidates='${[...words.keys()].join(' ')}' ;;`)
    .join('\n');
}

/**
 * Arguments and option values come after the words of a command. So the script drops words from the
 * end of what was typed until the rest is the words of a command.
 */
function createBashScript(completions: Completions): string {
  return `# Completion of action-gateway for bash.
_action_gateway_candidates() {
  case "$1" in
${createCases(completions)}
    *) return 1 ;;
  esac
}
_action_gateway() {
  local candidates='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || words+="\${words:+ }$word"
  done
  until _action_gateway_candidates "$words"; do
    [[ $words == *' '* ]] && words="\${words% *}" || words=''
  done
  COMPREPLY=($(compgen -W "$candidates" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _action_gateway action-gateway
`;
}

function createZshScript(completions: Completions): string {
  return `#compdef action-gateway
# Completion of action-gateway for zsh.
_action_gateway_candidates() {
  case "$1" in
${createCases(completions)}
    *) return 1 ;;
  esac
}
_action_gateway() {
  local candidates='' typed='' word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] || typed+="\${typed:+ }$word"
  done
  until _action_gateway_candidates "$typed"; do
    [[ $typed == *' '* ]] && typed="\${typed% *}" || typed=''
  done
  compadd -- \${=candidates} || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _action_gateway action-gateway
`;
}

function createFishScript(completions: Completions): string {
  const cases = [...completions].map(([path, words]) => {
    const lines = [...words].map(([word, about]) => quoteForFish(`${word}\t${about}`));
    return `    case '${path}'\n      printf '%s\\n' ${lines.join(' ')}`;
  });
  return `# Completion of action-gateway for fish.
function __action_gateway_candidates
  switch "$argv[1]"
${cases.join('\n')}
    case '*'
      return 1
  end
end
function __action_gateway_complete
  set -l typed (commandline -opc)[2..-1]
  set -l typed (string match --invert -- '-*' $typed)
  while not __action_gateway_candidates "$typed"
    set -e typed[-1]
  end
end
complete -c action-gateway -a '(__action_gateway_complete)'
`;
}

function quoteForFish(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}
