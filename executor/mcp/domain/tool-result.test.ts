import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import type { RpcResponse } from './message.ts';
import { toToolBody, listToolBytes } from './tool-result.ts';

const answerOf = (result: JsonValue) => ({ jsonrpc: '2.0', id: '1', result }) as RpcResponse;
const image = { type: 'image', mimeType: 'image/svg+xml', data: 'aGVsbG8=' };
const resourceOf = (uri: string) => ({
  type: 'resource',
  resource: { uri, mimeType: 'application/pdf', blob: 'AAEC' },
});

describe('the bytes in a tool’s answer', () => {
  test('are found, each with a pointer to its block and a file name', () => {
    const content = [
      { type: 'text', text: 'no bytes' },
      image,
      { type: 'audio', data: '', mimeType: 7 },
      resourceOf('file:///a/b/report.pdf?x=1'),
      resourceOf('urn:none/'),
    ];
    expect(listToolBytes(answerOf({ content }))).toEqual([
      { at: '/content/1', base64: 'aGVsbG8=', mediaType: 'image/svg+xml', name: 'image-2.svg' },
      { at: '/content/2', base64: '', mediaType: '', name: 'audio-3' },
      { at: '/content/3', base64: 'AAEC', mediaType: 'application/pdf', name: 'report.pdf' },
      { at: '/content/4', base64: 'AAEC', mediaType: 'application/pdf', name: 'resource-5.pdf' },
    ]);
  });

  test('have a pointer into the result as it is after repeated text was removed', () => {
    const errorResult = {
      structuredContent: { a: 1 },
      content: [{ type: 'text', text: '{"a":1}' }, image],
    };
    const [bytes] = listToolBytes(answerOf(errorResult));
    expect(bytes?.at).toBe('/content/0');
    expect(toToolBody(answerOf(errorResult), new Map([['/content/0', 'file']]))).toEqual({
      structuredContent: { a: 1 },
      content: [{ type: 'image', mimeType: 'image/svg+xml', omitted: { reason: 'file', size: 5 } }],
    });
  });

  test('are never in the body, whether or not they were kept as a file', () => {
    const blob = resourceOf('a:b');
    for (const reason of ['too_many', 'too_large', 'not_stored'] as const) {
      const body = toToolBody(answerOf({ content: [blob] }), new Map([['/content/0', reason]]));
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

  test('are found in an incomplete result too, and the body is marked as incomplete', () => {
    const body = (resultType: string) =>
      toToolBody(answerOf({ resultType, content: [] }), new Map());
    expect(body('complete')).toEqual({ content: [] });
    expect(body('input_required')).toEqual({ resultType: 'input_required', content: [] });
  });

  test('are not looked for when content is not a list, nor in a protocol error', () => {
    expect(listToolBytes(answerOf({ content: 'text' }))).toEqual([]);
    const error = { jsonrpc: '2.0', id: '1', error: { code: 1, message: 'no' } } as RpcResponse;
    expect(listToolBytes(error)).toEqual([]);
    expect(toToolBody(error, new Map())).toEqual({ error: { code: 1, message: 'no' } });
  });
});
