import { ResourceTemplate } from '@modelcontextprotocol/server';

import type { Fixture } from './fixture-server.ts';
import { pngBase64 } from './samples.ts';

export function registerResources({ server, isStateless }: Fixture): void {
  server.registerResource(
    'static-text',
    'test://static-text',
    { description: 'A static text', mimeType: 'text/plain' },
    ({ href: uri }) => ({
      contents: [
        { uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
      ],
    }),
  );
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { description: 'A static image', mimeType: 'image/png' },
    ({ href: uri }) => ({ contents: [{ uri, mimeType: 'image/png', blob: pngBase64 }] }),
  );
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'A template', mimeType: 'application/json' },
    ({ href: uri }, { id }) => ({
      contents: [
        {
          uri,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
  if (isStateless) return;
  // The server accepts a subscription without storing it, because the fixtures never change.
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
}
