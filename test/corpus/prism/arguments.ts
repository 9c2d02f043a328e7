import { generateSync } from 'json-schema-faker';

import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { compileValidator } from '../../support/check-params.ts';

export type Params = Record<string, JsonValue>;

/** How much of what is optional a call has. */
const probabilities = [0, 1, 0.5, 0.7] as const;
const attempts = 20;

/**
 * Arguments of an action, generated from its schema and nothing else: with nothing optional, with
 * everything, with half of it, and with texts that mean something to URLs and forms. What the
 * generator cannot make fit is left out.
 */
export function wellFormed(
  action: CompiledAction,
  { count, seed }: { count: number; seed: number },
): Params[] {
  const validate = compileValidator(action.paramsSchema);
  const found: Params[] = [];
  for (let at = 0; at < count; at += 1) {
    const wanted = probabilities[at % probabilities.length] ?? 1;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const made = generate(action.paramsSchema, {
        seed: seed + at * attempts + attempt,
        // What cannot be made with everything can be made with less.
        optional: wanted * (1 - attempt / attempts),
      });
      const params = made && wanted === 0.7 ? withHardTexts(action, made) : made;
      if (params === undefined || validate(params).length > 0) continue;
      found.push(params);
      break;
    }
  }
  return found;
}

/** What has a meaning in paths, queries, headers or forms, and letters of other alphabets. */
const hardTexts = [
  'a b+c',
  '50%',
  'x/y?z#w',
  'k=v&l',
  "it's (1*2)!",
  'größe',
  '漢字 🐟',
  '"q"; a,b',
  '%2e%2F',
];

function withHardTexts(action: CompiledAction, params: Params): Params {
  const isFree = (name: string) => {
    const schema = action.params.find((param) => param.name === name)?.schema ?? {};
    const keywords = Object.keys(schema).filter((key) => !['minLength', 'title'].includes(key));
    return schema['type'] === 'string' && keywords.join() === 'type';
  };
  return Object.fromEntries(
    Object.entries(params).map(([name, value], at) =>
      isFree(name)
        ? [name, hardTexts[(String(value).length + at) % hardTexts.length] ?? '']
        : [name, value],
    ),
  );
}

function generate(
  schema: CompiledAction['paramsSchema'],
  { seed, optional }: { seed: number; optional: number },
): Params | undefined {
  try {
    return generateSync(withoutDefaults(schema), {
      seed,
      optionalsProbability: optional,
      maxDefaultItems: 3,
    }) as Params;
  } catch {
    return undefined; // A schema that it cannot read, or a pattern that it cannot meet.
  }
}

/** It would take the default for the only value there is. */
function withoutDefaults(schema: CompiledAction['paramsSchema']): Record<string, unknown> {
  const text = JSON.stringify(schema, (key, value: unknown) =>
    key === 'default' && (value === null || typeof value !== 'object') ? undefined : value,
  );
  return JSON.parse(text) as Record<string, unknown>;
}
