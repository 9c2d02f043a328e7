import { describe, expect, test } from 'vitest';

import { compileExample, setMember } from './compile-example.testing.ts';
import { createNote, jsonBody } from './example-document.testing.ts';

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const attachment = {
  type: 'object',
  required: ['filename', 'base64'],
  additionalProperties: false,
  properties: { filename: text, content_type: text, base64: text },
};
const properties = { to: texts, bcc: texts, subject: text, text, threadId: text };
const compose = { format: 'rfc822', into: 'message.raw' };

function compileNote(changes: {
  compose?: unknown;
  properties?: Record<string, unknown>;
  body?: unknown;
}) {
  return compileExample((document) => {
    const operation = createNote(document);
    setMember(operation, 'summary', 'Send "{subject}"');
    setMember(operation, 'disclose', []);
    setMember(operation, 'redact', []);
    setMember(operation, 'scope_param', [
      { param: ['to[]', 'bcc[]'], label: 'recipient', as: 'email' },
    ]);
    const schema = {
      type: 'object',
      required: ['to', 'subject', 'text'],
      properties: { ...properties, ...changes.properties },
    };
    setMember(operation, 'requestBody', changes.body ?? jsonBody(schema));
    setMember(operation, 'compose', changes.compose ?? compose);
  });
}

describe('`compose`', () => {
  test('says where the message is, and marks the params from which it is composed', () => {
    const { template, report } = compileNote({
      properties: { attachments: { type: 'array', items: attachment } },
    });
    expect(report.errors).toEqual([]);
    const action = template?.actions['create_note'];
    expect(action?.compose).toEqual({
      format: 'rfc822',
      into: ['message', 'raw'],
      encoding: 'base64url',
    });
    // Releases that cannot compose messages refuse the style, so they never send such a body.
    const ofStyle = action?.params.filter(({ style }) => style === 'mail').map(({ name }) => name);
    expect(ofStyle).toEqual(['to', 'bcc', 'subject', 'text', 'attachments']);
  });

  test('is absent from actions without it', () => {
    const { template } = compileExample();
    expect(template?.actions['create_note']).not.toHaveProperty('compose');
  });

  test.for<[what: string, changes: Parameters<typeof compileNote>[0], code?: string]>([
    ['another format', { compose: { ...compose, format: 'vcard' } }],
    ['another encoding', { compose: { ...compose, encoding: 'hex' } }],
    ['a message inside a list', { compose: { ...compose, into: 'messages[].raw' } }],
    ['no place for the message', { compose: { format: 'rfc822' } }, 'required_field_missing'],
    ['an unknown field', { compose: { ...compose, from: 'x' } }, 'unknown_field'],
    ['a text', { compose: 'rfc822' }, 'wrong_type'],
    ['a body that is a text', { body: { content: { 'text/plain': { schema: text } } } }],
    ['recipients in one text', { properties: { to: text } }],
    ['a subject that may be a list', { properties: { subject: { type: ['string', 'array'] } } }],
    ['recipients of any type', { properties: { cc: {} } }],
    [
      'attachments that may name a file of the gateway',
      {
        properties: {
          attachments: {
            type: 'array',
            items: { ...attachment, properties: { ...attachment.properties, path: text } },
          },
        },
      },
    ],
    [
      'attachments with further properties',
      { properties: { attachments: { type: 'array', items: { type: 'object' } } } },
    ],
    ['a property at the place of the message', { properties: { raw: text } }],
    ['another spelling of that property', { properties: { Raw: text } }],
    ['another spelling of a mail field', { properties: { replyTo: text } }],
    ['no recipients', { body: jsonBody({ type: 'object', properties: { subject: text, text } }) }],
  ])('is refused with %s', ([, changes, code = 'compose_invalid']) => {
    expect(compileNote(changes).report.errors.map((error) => error.code)).toContain(code);
  });
});
