import { mkdir, writeFile } from 'node:fs/promises';

import { createOpenapiDocument } from './openapi.ts';

/** Writes the document to `docs/openapi.json`, where a test compares it with the routes. */
const folder = new URL('../docs/', import.meta.url);
await mkdir(folder, { recursive: true });
const document = createOpenapiDocument();
await writeFile(new URL('openapi.json', folder), `${JSON.stringify(document, null, 2)}\n`);
