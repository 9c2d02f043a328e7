import { execFileSync } from 'node:child_process';

import { expect, test } from 'vitest';

import { commands } from './commands.ts';
import { createCompletion } from './completion.ts';

/** The completions that bash offers for the last of these words, which is incomplete. */
function completeInBash(...words: string[]): string[] {
  const script = `${createCompletion('bash', commands)}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _action_gateway; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('/bin/bash', ['-c', script, 'bash', 'action-gateway', ...words]);
  return output.toString().split('\n').filter(Boolean);
}

test.each([
  [['who'], ['whoami']],
  [['mcp', ''], expect.arrayContaining(['login', 'logout', '--credential-file'])],
  [['mcp', 'login', '--no'], ['--no-browser']],
  [['mcp', 'login', '--scope', 'mcp', '--new'], ['--new-client']],
  [['mcp', 'login', '--scope', "it's $(id)", '--new'], ['--new-client']],
  [
    ['nothing', 'log'],
    ['login', 'logout'],
  ],
])('for the words %j, bash offers the completions %j', (words, expected) => {
  expect(completeInBash(...words)).toEqual(expected);
});

test.each(['bash', 'zsh', 'fish'])(
  'the completion script for %s contains every command',
  (shell) => {
    const script = createCompletion(shell, commands);
    for (const { usage } of commands) {
      for (const word of usage.split(' ').filter((each) => /^[a-z]/.test(each))) {
        expect(script).toContain(word);
      }
    }
  },
);

test.each(['tcsh', 'constructor', ''])(
  'the program offers no completion script for the shell %j',
  (shell) => {
    expect(() => createCompletion(shell, commands)).toThrow('bash, zsh or fish');
  },
);
