import { expect, test } from 'vitest';

import { headersOfFrame, parseFrame, parseReply } from './frame.ts';

const parse = (message: unknown) => parseFrame(Buffer.from(JSON.stringify(message)));

test.each([
  [{ id: 1, method: 'a' }, 'request'],
  [{ id: '', method: 'a' }, 'request'],
  [{ method: 'a' }, 'notification'],
  [{ id: 1, result: {} }, 'response'],
  [{ id: 1, error: { code: 1, message: 'm' } }, 'response'],
])('the JSON-RPC message %j is a %s', (message, kind) => {
  expect(parse({ jsonrpc: '2.0', ...message })?.kind).toBe(kind);
});

test.each([[null], [1], ['a'], [[]], [{}], [{ jsonrpc: '1.0', id: 1, method: 'a' }]])(
  '%j is not accepted as a JSON-RPC message, neither from the editor nor from the gateway',
  (message) => {
    expect(parse(message)).toBeUndefined();
    expect(parseReply(JSON.stringify(message))).toBeUndefined();
  },
);

const versionParams = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
test.each([
  ['tools/call', { name: 'a_b' }, 'a_b'],
  ['prompts/get', { name: 'p' }, 'p'],
  ['resources/read', { uri: 'file:///a%20b' }, 'file:///a%20b'],
  ['tasks/get', { taskId: 't' }, 't'],
  ['tools/call', { name: '' }, '=?base64??='],
  ['tools/call', { name: ' a' }, '=?base64?IGE=?='],
  ['tools/call', { name: 'a\r\nx: y' }, '=?base64?YQ0KeDogeQ==?='],
  ['tools/call', { name: '=?base64?YQ==?=' }, '=?base64?PT9iYXNlNjQ/WVE9PT89?='],
  ['tools/call', { name: 7 }, undefined],
  ['tools/list', { name: 'a' }, undefined],
])(
  'in MCP version 2026-07-28, the method %s with the params %j has the Mcp-Name header %j',
  (method, params, name) => {
    const frame = parse({ jsonrpc: '2.0', id: 1, method, params: { ...params, ...versionParams } });
    expect(frame && headersOfFrame(frame)).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    });
  },
);

test('a message of an MCP version before 2026-07-28 adds no headers', () => {
  const frame = parse({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a' } });
  expect(frame && headersOfFrame(frame)).toEqual({});
});
