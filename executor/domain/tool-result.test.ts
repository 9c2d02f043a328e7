import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import type { RpcResponse } from '../mcp/message.ts';
import { toolBody, toolBytes } from './tool-result.ts';

const answer = (result: JsonValue) => ({ jsonrpc: '2.0', id: '1', result }) as RpcResponse;
const image = { type: 'image', mimeType: 'image/svg+xml', data: 'aGVsbG8=' };
const resource = (uri: string) => ({
  type: 'resource',
  resource: { uri, mimeType: 'application/pdf', blob: 'AAEC' },
});

describe('bytes of a tool', () => {
  test('are found where they stand, under a name to save them by', () => {
    const content = [
      { type: 'text', text: 'no bytes' },
      image,
      { type: 'audio', data: '', mimeType: 7 },
      resource('file:///a/b/report.pdf?x=1'),
      resource('urn:none/'),
    ];
    expect(toolBytes(answer({ content }))).toEqual([
      { at: '/content/1', base64: 'aGVsbG8=', mediaType: 'image/svg+xml', name: 'image-2.svg' },
      { at: '/content/2', base64: '', mediaType: '', name: 'audio-3' },
      { at: '/content/3', base64: 'AAEC', mediaType: 'application/pdf', name: 'report.pdf' },
      { at: '/content/4', base64: 'AAEC', mediaType: 'application/pdf', name: 'resource-5.pdf' },
    ]);
  });

  test('are pointed to in the body as it is given, without text that was said already', () => {
    const said = {
      structuredContent: { a: 1 },
      content: [{ type: 'text', text: '{"a":1}' }, image],
    };
    const [bytes] = toolBytes(answer(said));
    expect(bytes?.at).toBe('/content/0');
    expect(toolBody(answer(said), new Map([['/content/0', 'file']]))).toEqual({
      structuredContent: { a: 1 },
      content: [{ type: 'image', mimeType: 'image/svg+xml', omitted: { reason: 'file', size: 5 } }],
    });
  });

  test('never stay in the body, whatever became of them', () => {
    const blob = resource('a:b');
    for (const reason of ['too_many', 'too_large', 'not_stored'] as const) {
      const body = toolBody(answer({ content: [blob] }), new Map([['/content/0', reason]]));
      expect(body).toEqual({
        content: [
          {
            type: 'resource',
            resource: { uri: 'a:b', mimeType: 'application/pdf', omitted: { reason, size: 3 } },
          },
        ],
      });
    }
  });

  test('of a result that is not whole say so', () => {
    const body = (resultType: string) => toolBody(answer({ resultType, content: [] }), new Map());
    expect(body('complete')).toEqual({ content: [] });
    expect(body('input_required')).toEqual({ resultType: 'input_required', content: [] });
  });

  test('are none where content is no list, and in an error of the protocol', () => {
    expect(toolBytes(answer({ content: 'text' }))).toEqual([]);
    const error = { jsonrpc: '2.0', id: '1', error: { code: 1, message: 'no' } } as RpcResponse;
    expect(toolBytes(error)).toEqual([]);
    expect(toolBody(error, new Map())).toEqual({ error: { code: 1, message: 'no' } });
  });
});
