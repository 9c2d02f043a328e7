import { z } from 'zod';

import { displayNameCharactersMax } from '../vocabulary.ts';

/**
 * Characters that are invisible, that reorder the text beside them, or that look like others: the
 * class of `#hidden-characters`, which contracts may not import, with control characters, lone
 * surrogates and unassigned code points. A test compares the two.
 */
const refusedCharacters =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u{1d159}\u{13441}\u{13442}]/u;
const lengthPattern = new RegExp(`^[^]{1,${displayNameCharactersMax}}$`, 'u');
/**
 * Combining marks without a base letter, or so many on one letter that they reach into other lines.
 */
const looseMarks = /^\p{M}|\s\p{M}|\p{M}{4,}/u;

/** The separator of the names in a path, `Ann Berg (ann) › deploy-bot`, and similar characters. */
const pathSigns = /[›❯〉⟩]/u;

/**
 * How a person wants to be called. It is shown beside the handle and never in place of it, so it
 * may equal the display name of somebody else (docs/reference/identities.md#display-names).
 */
export const displayName = z
  .string()
  .min(1)
  .max(displayNameCharactersMax * 2)
  // Counted in code points, as Postgres counts.
  .regex(lengthPattern, `must have 1 to ${displayNameCharactersMax} characters`)
  .refine(
    (name) => !refusedCharacters.test(name),
    'must hold no control characters and none that are invisible or change the direction of text',
  )
  .refine(
    (name) => !looseMarks.test(name),
    'must hold at most three accents on a letter, and none without a letter',
  )
  .refine(
    (name) => !pathSigns.test(name),
    'must not contain ›, which separates the names of a path',
  )
  .refine(
    (name) => !/^ | {2}| $/.test(name),
    'must neither begin nor end with a space, nor hold two in a row',
  );
