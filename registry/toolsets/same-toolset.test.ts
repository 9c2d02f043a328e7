import { expect, test } from 'vitest';

import type { Toolset } from './domain/toolset.ts';
import { readTools } from '../compiler/domain/tool-action.ts';
import { mergeOfferedTools, toolsetOf } from './domain/toolset.ts';
import { isSameToolset } from './same-toolset.ts';

const definitionsOf = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, at) => ({
    name: `tool_${at}`,
    description: 'x',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'string', description: 'd'.repeat(bytes) } },
    },
  }));

function createToolset(description = 'x'): Toolset {
  const definitions = definitionsOf(200, 6_000);
  const last = definitions.at(-1);
  if (last !== undefined) last.description = description;
  return toolsetOf(
    '2025-11-25',
    mergeOfferedTools([], readTools(definitions), () => true),
  );
}

test('comparing two toolsets lets the event loop run meanwhile', async () => {
  const [left, right] = [createToolset(), createToolset()];
  expect(JSON.stringify(left).length).toBeGreaterThan(2_000_000);
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  expect(await isSameToolset(left, right)).toBe(true);
  isOver = true;

  expect(turns).toBeGreaterThanOrEqual(15);
});

test.for<[what: string, other: Toolset]>([
  ['a tool differs', createToolset('y')],
  ['a tool is missing', { ...createToolset(), tools: createToolset().tools.slice(1) }],
  [
    'there is an additional tool',
    { ...createToolset(), tools: [...createToolset().tools, ...createToolset().tools.slice(-1)] },
  ],
  ['their MCP version differs', { ...createToolset(), protocolVersion: '2025-06-18' }],
])('two toolsets differ when %s', async ([, other]) => {
  expect(await isSameToolset(createToolset(), other)).toBe(false);
  expect(await isSameToolset(other, createToolset())).toBe(false);
});

test('merging two lists of tools keeps the hash of each tool that was computed when the tool was read', () => {
  const [read] = readTools(definitionsOf(1, 10));
  if (read === undefined) throw new Error('nothing was read');
  const [tool] = mergeOfferedTools([], [{ ...read, hash: 'as it was read' }]);

  expect(tool?.offered?.hash).toBe('as it was read');
});
