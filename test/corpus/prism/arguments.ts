import { generateSync } from 'json-schema-faker';

import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { compileValidator } from '../../support/check-params.ts';

export type Params = Record<string, JsonValue>;

/**
 * The probability that a generated call contains an optional value. One set of arguments is
 * generated for each probability.
 */
const probabilities = [0, 1, 0.5, 0.7] as const;
const attemptsPerSet = 20;

/**
 * Generates sets of arguments for an action from its schema alone: without optional values, with
 * all of them, with half of them, and with texts that contain special characters of URLs and forms.
 * If the generator cannot make a set valid, the set is left out.
 */
export function generateWellFormed(
  action: CompiledAction,
  { count, seed }: { count: number; seed: number },
): Params[] {
  const validate = compileValidator(action.paramsSchema);
  const generatedSets: Params[] = [];
  for (let at = 0; at < count; at += 1) {
    const wantedProbability = probabilities[at % probabilities.length] ?? 1;
    for (let attempt = 0; attempt < attemptsPerSet; attempt += 1) {
      const generatedParams = generateParams(action.paramsSchema, {
        seed: seed + at * attemptsPerSet + attempt,
        // Each attempt has fewer optional values, because the generator may fail to generate some
        // of them.
        optional: wantedProbability * (1 - attempt / attemptsPerSet),
      });
      const params =
        generatedParams && wantedProbability === 0.7
          ? withHardTexts(action, generatedParams)
          : generatedParams;
      if (params === undefined || validate(params).length > 0) continue;
      generatedSets.push(params);
      break;
    }
  }
  return generatedSets;
}

/**
 * Texts with special characters of paths, queries, headers or forms, and with letters of other
 * alphabets.
 */
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
  const acceptsAnyText = (name: string) => {
    const schema = action.params.find((param) => param.name === name)?.schema ?? {};
    const keywords = Object.keys(schema).filter((key) => !['minLength', 'title'].includes(key));
    return schema['type'] === 'string' && keywords.join() === 'type';
  };
  return Object.fromEntries(
    Object.entries(params).map(([name, value], at) =>
      acceptsAnyText(name)
        ? [name, hardTexts[(String(value).length + at) % hardTexts.length] ?? '']
        : [name, value],
    ),
  );
}

function generateParams(
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
    return undefined; // The generator does not support the schema, or cannot make a text that matches a pattern.
  }
}

/** Removes default values from the schema, because the generator would never use another value. */
function withoutDefaults(schema: CompiledAction['paramsSchema']): Record<string, unknown> {
  const text = JSON.stringify(schema, (key, value: unknown) =>
    key === 'default' && (value === null || typeof value !== 'object') ? undefined : value,
  );
  return JSON.parse(text) as Record<string, unknown>;
}
