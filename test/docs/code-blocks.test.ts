import { describe, expect, test } from 'vitest';

import { codeBlocksIn, isAsShown, readTestedPages } from './code-blocks.ts';
import { startShell } from './shell.ts';

describe('the code blocks of the README and the guides', () => {
  test('are run, saved or compared by a test, or have a mark that says why not', async () => {
    const pages = await readTestedPages();
    expect(pages.size).toBe(4);
    for (const [page, blocks] of pages) {
      expect(blocks.filter(({ skip }) => skip === undefined).length, page).toBeGreaterThan(2);
      const untested = blocks.filter(
        ({ language, skip, file, isOutput }) =>
          language !== 'sh' && skip === undefined && file === undefined && !isOutput,
      );
      expect(untested.map(({ place }) => place)).toEqual([]);
    }
  });

  test('are valid JSON if their language is json', async () => {
    const blocks = [...(await readTestedPages()).values()].flat();
    const jsonBlocks = blocks.filter(({ language, isOutput }) => language === 'json' && !isOutput);
    expect(jsonBlocks.length).toBeGreaterThan(0);
    for (const { place, text } of jsonBlocks) expect(() => JSON.parse(text), place).not.toThrow();
  });
});

describe('a code block', () => {
  test('has its marks after the language, in any order', () => {
    const page = [
      '```sh exit=5 while=deciding',
      'false',
      '```',
      '```json output',
      '{}',
      '```',
      '```sh skip="needs Docker, which is not here"',
      'docker compose up',
      '```',
      '```js file=agent.mjs',
      '```',
    ].join('\n');
    const [run, output, skipped, saved] = codeBlocksIn('a.md', page);
    expect(run).toMatchObject({ place: 'a.md:1', text: 'false', exit: 5, meanwhile: 'deciding' });
    expect(output).toMatchObject({ language: 'json', isOutput: true, text: '{}' });
    expect(skipped?.skip).toBe('needs Docker, which is not here');
    expect(saved).toMatchObject({ file: 'agent.mjs', text: '', exit: 0 });
  });

  test.for(['```sh skip', '```sh skip=""', '```sh exits=5', '```sh\nno end'])(
    'is refused if its first line is %j',
    (text) => {
      expect(() => codeBlocksIn('a.md', `${text}\n\`\`\``.replace('end\n```', 'end'))).toThrow(
        'a.md:1',
      );
    },
  );

  test.for<[shown: string, actual: string, isSame: boolean]>([
    ['a', 'a\n', true],
    ['a', 'b', false],
    ['a', 'a b', false],
    ['id …, a', 'id 12, a', true],
    ['id …, a', 'id 12, b', false],
    ['…end', 'the end', true],
    ['start…', 'start of it', true],
    ['a…b…c', 'a-c-b', false],
  ])('that shows %j matches the output %j: %j', ([shown, actual, isSame]) => {
    expect(isAsShown(shown, actual)).toBe(isSame);
  });
});

test('the shell for the blocks reports a command that fails in the middle of a block, and remembers what earlier blocks defined', async () => {
  await using shell = await startShell({ cwd: '/', environment: {} });
  const failedRun = await shell.run('echo one\n(exit 7)\necho two >&2');
  expect(failedRun).toEqual({ status: 7, output: 'one\ntwo\n' });
  expect((await shell.run('alias say="echo said"; A=1')).status).toBe(0);
  expect(await shell.run('cat; say $A')).toEqual({ status: 0, output: 'said 1\n' });
});
