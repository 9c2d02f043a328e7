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
const fieldsListedMax = 20;
const partSentences: Record<Part, string> = {
  path: 'The path is not valid; correct the parts named in issues.',
  query: 'The query string is not valid; correct the parameters named in issues.',
  body: 'The body is not valid; correct the fields named in issues.',
  arguments: 'The arguments are not valid; correct the fields named in issues.',
};

/**
 * Parses one part of a request. Throws `invalid_request` with one issue per wrong or unknown field.
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown, part: Part): z.output<S> {
  const parseResult = schema.safeParse(value, { reportInput: true });
  if (parseResult.success) return parseResult.data;
  // A body can have a hundred thousand wrong fields, so only the first few issues are described.
  const issues = parseResult.error.issues
    .slice(0, issuesMax)
    .flatMap((issue) => describeIssue(issue, schema));
  throw invalidRequest(partSentences[part], issues);
}

export function invalidRequest(message: string, issues: readonly Issue[]): AppError {
  return new AppError('invalid_request', message, {
    details: { issues: issues.slice(0, issuesMax) },
  });
}

function describeIssue(issue: z.core.$ZodIssue, schema: z.ZodType): Issue[] {
  const path = issue.path.join('.');
  switch (issue.code) {
    case 'unrecognized_keys': {
      const knownFields = findKnownNames(schema, issue.path);
      return issue.keys.slice(0, issuesMax).map((key) => {
        const nearestField = nearestName(key, knownFields);
        return {
          path: [...issue.path, key].join('.'),
          message: 'is not a known field',
          ...(nearestField === undefined
            ? listExpectedFields(knownFields)
            : { did_you_mean: nearestField }),
        };
      });
    }
    case 'invalid_type':
      return [
        {
          path,
          message: typeMessageOf(issue, 'has the wrong type'),
          expected: typeName(issue.expected),
        },
      ];
    case 'invalid_value': {
      const expected = issue.values.map(String);
      const givenValue =
        typeof issue.input === 'string' ? nearestName(issue.input, expected) : undefined;
      return [
        {
          path,
          message: typeMessageOf(issue, 'is not one of the allowed values'),
          expected: expected.join(', '),
          ...(givenValue === undefined ? {} : { did_you_mean: givenValue }),
        },
      ];
    }
    case 'invalid_union': {
      const nestedIssues = issue.errors.flat();
      const issuesAtPath = nestedIssues.filter(
        (each) => each.path.length === 0 && each.code === 'invalid_type',
      );
      const expected = [
        ...new Set(issuesAtPath.map((each) => ('expected' in each ? typeName(each.expected) : ''))),
      ];
      const deeperIssue = nestedIssues.find((each) => each.path.length > 0);
      if (deeperIssue !== undefined) {
        return describeIssue(
          { ...deeperIssue, path: [...issue.path, ...deeperIssue.path] },
          schema,
        );
      }
      return [
        {
          path,
          message: typeMessageOf(issue, 'has the wrong type'),
          expected: expected.join(' or '),
        },
      ];
    }
    default:
      return [{ path, message: issue.message }];
  }
}

/** Lists the known fields, unless there are too many to read. */
function listExpectedFields(fields: readonly string[]): { expected?: string } {
  const isShort = fields.length > 0 && fields.length <= fieldsListedMax;
  return isShort ? { expected: fields.join(', ') } : {};
}

function typeMessageOf(issue: z.core.$ZodIssue, message: string): string {
  return issue.input === undefined ? 'is required' : message;
}

/** Returns what JSON calls this type of Zod's. */
function typeName(expected: string): string {
  return expected === 'record' ? 'object' : expected;
}

/**
 * Returns the member names that the schema defines at this path. The list is empty where any name
 * is allowed.
 */
function findKnownNames(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let current: z.core.$ZodType | undefined = schema;
  for (const step of path) current = memberOf(unwrapSchema(current), step);
  const shape = shapeOf(unwrapSchema(current));
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

/** Unwraps `optional`, `nullable` and `default`. */
function unwrapSchema(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  let current = schema;
  while (current !== undefined && 'innerType' in current._zod.def) {
    current = current._zod.def.innerType as z.core.$ZodType;
  }
  return current;
}
