import type { z } from 'zod';

import { AppError, nearestName } from '#errors';

export interface Issue {
  readonly path: string;
  readonly message: string;
  readonly expected?: string;
  readonly did_you_mean?: string;
  readonly [extra: string]: string | undefined;
}

type Part = 'path' | 'query' | 'body' | 'arguments';

const issuesMax = 20;
const pathCharactersMax = 200;
const sentences: Record<Part, string> = {
  path: 'The path is not valid; correct the parts named in issues.',
  query: 'The query string is not valid; correct the parameters named in issues.',
  body: 'The body is not valid; correct the fields named in issues.',
  arguments: 'The arguments are not valid; correct the fields named in issues.',
};

/** What a text must look like, by the name of its format. */
const formats: Readonly<Record<string, string>> = {
  uuid: 'must be an id such as 0199c0de-0000-7000-8000-000000000001',
  datetime: 'must be a date and time such as 2026-11-23T08:00:00Z',
};

/** Parses one part of a request, or throws `invalid_request` with an issue per wrong or unknown field. */
export function validate<S extends z.ZodType>(schema: S, value: unknown, part: Part): z.output<S> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  // No more are told, and one field may have a hundred thousand.
  const issues = parsed.error.issues
    .slice(0, issuesMax)
    .flatMap((issue) => describe(issue, schema));
  throw invalidRequest(sentences[part], issues);
}

export function invalidRequest(message: string, issues: readonly Issue[]): AppError {
  return new AppError('invalid_request', message, {
    details: { issues: issues.slice(0, issuesMax) },
  });
}

function describe(issue: z.core.$ZodIssue, schema: z.ZodType): Issue[] {
  const path = issue.path.join('.').slice(0, pathCharactersMax);
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = knownNames(schema, issue.path);
      return issue.keys.slice(0, issuesMax).map((key) => {
        const meant = nearestName(key, known);
        return {
          path: [...issue.path, key].join('.').slice(0, pathCharactersMax),
          message: 'is not a known field',
          ...(meant === undefined ? {} : { did_you_mean: meant }),
        };
      });
    }
    case 'invalid_type':
      return [
        { path, message: wrong(issue, 'has the wrong type'), expected: typeName(issue.expected) },
      ];
    case 'invalid_value': {
      const expected = issue.values.map(String);
      const given =
        typeof issue.input === 'string' ? nearestName(issue.input, expected) : undefined;
      return [
        {
          path,
          message: wrong(issue, 'is not one of the allowed values'),
          expected: expected.join(', '),
          ...(given === undefined ? {} : { did_you_mean: given }),
        },
      ];
    }
    case 'invalid_union': {
      const nested = issue.errors.flat();
      const here = nested.filter((each) => each.path.length === 0 && each.code === 'invalid_type');
      const expected = [
        ...new Set(here.map((each) => ('expected' in each ? typeName(each.expected) : ''))),
      ];
      const deeper = nested.find((each) => each.path.length > 0);
      if (deeper !== undefined) {
        return describe({ ...deeper, path: [...issue.path, ...deeper.path] }, schema);
      }
      return [
        { path, message: wrong(issue, 'has the wrong type'), expected: expected.join(' or ') },
      ];
    }
    case 'invalid_format':
      return [{ path, message: formats[issue.format] ?? issue.message }];
    default:
      return [{ path, message: issue.message }];
  }
}

function wrong(issue: z.core.$ZodIssue, message: string): string {
  return issue.input === undefined ? 'is required' : message;
}

/** In the words of JSON. */
function typeName(expected: string): string {
  return expected === 'record' ? 'object' : expected;
}

/** The member names a schema knows at a place; empty where anything goes. */
function knownNames(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let found: z.core.$ZodType | undefined = schema;
  for (const step of path) found = memberOf(bare(found), step);
  const shape = shapeOf(bare(found));
  return shape === undefined ? [] : Object.keys(shape);
}

function memberOf(
  schema: z.core.$ZodType | undefined,
  step: PropertyKey,
): z.core.$ZodType | undefined {
  const definition = schema?._zod.def;
  if (definition?.type === 'array') return (definition as z.core.$ZodArrayDef).element;
  return shapeOf(schema)?.[String(step)];
}

function shapeOf(schema: z.core.$ZodType | undefined): z.core.$ZodShape | undefined {
  const definition = schema?._zod.def;
  return definition?.type === 'object' ? (definition as z.core.$ZodObjectDef).shape : undefined;
}

/** Without `optional`, `nullable` and `default` around it. */
function bare(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  let found = schema;
  while (found !== undefined && 'innerType' in found._zod.def) {
    found = found._zod.def.innerType as z.core.$ZodType;
  }
  return found;
}
