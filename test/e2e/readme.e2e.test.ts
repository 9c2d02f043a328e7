import { expect, test } from 'vitest';

import { readTestedPages } from '../docs/code-blocks.ts';
import { startReader } from '../docs/reader.ts';
import { pollUntil, successfulBodyOf } from '../support/world.ts';

test('a person who types the commands of the README gets the output that it shows, and the notes are pinned', async () => {
  const blocks = (await readTestedPages()).get('README.md');
  await using reader = await startReader();
  await reader.type(blocks ?? []);

  const listNotes = { service: 'sample', action: 'list_notes', params: { board: 'kitchen' } };
  const readTexts = async (): Promise<string[]> => {
    const { result } = successfulBodyOf(await reader.person.post('/v1/actions/call', listNotes));
    return result.body.notes.map(({ text }: { text: string }) => text);
  };
  await pollUntil(async () => (await readTexts()).length === 2, 'the notes');
  expect((await readTexts()).toSorted()).toEqual(['Milk is back', 'Milk is out']);
});
