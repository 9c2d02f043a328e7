import { fromJsonSchema } from '@modelcontextprotocol/server';

import type { Fixture } from './fixture-server.ts';
import { pngBase64, toTextContent, wavBase64 } from './samples.ts';

/** A parameter that clients also send in the header `Mcp-Param-Region` (SEP-2243). */
const mirroredParameter = { type: 'string' as const, 'x-mcp-header': 'Region' };

export function registerContentTools({ server }: Fixture): void {
  server.registerTool('test_simple_text', { description: 'Answers with text' }, () =>
    toTextContent('This is a simple text response for testing.'),
  );
  server.registerTool('test_image_content', { description: 'Answers with an image' }, () => ({
    content: [{ type: 'image', data: pngBase64, mimeType: 'image/png' }],
  }));
  server.registerTool('test_audio_content', { description: 'Answers with sound' }, () => ({
    content: [{ type: 'audio', data: wavBase64, mimeType: 'audio/wav' }],
  }));
  server.registerTool('test_embedded_resource', { description: 'Answers with a resource' }, () => ({
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
  }));
  server.registerTool(
    'test_multiple_content_types',
    { description: 'Answers with all of them' },
    () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        { type: 'image', data: pngBase64, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: JSON.stringify({ test: 'data', value: 123 }),
          },
        },
      ],
    }),
  );
  server.registerTool('test_error_handling', { description: 'Always fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool(
    'test_mirrored_parameter',
    {
      description: 'Takes a parameter that also stands in a header',
      inputSchema: fromJsonSchema({
        type: 'object',
        properties: { region: mirroredParameter },
        required: ['region'],
      }),
    },
    () => toTextContent('Mirrored'),
  );
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Takes what 2020-12 can describe', inputSchema: fromJsonSchema(richSchema) },
    () => toTextContent('Described'),
  );
}

/** A schema with every keyword that a server must pass on unchanged. */
const richSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object' as const,
      properties: { street: { type: 'string' as const }, city: { type: 'string' as const } },
    },
  },
  properties: {
    name: { type: 'string' as const },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string' as const, enum: ['phone', 'email'] },
    phone: { type: 'string' as const },
    email: { type: 'string' as const },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};
