import type { z } from 'zod';

type RawIssue = z.core.$ZodRawIssue;
type Sized = z.core.$ZodRawIssue<z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall>;

const patternCharactersMax = 100;
const valuesListedMax = 20;

const formatWords: Readonly<Record<string, string>> = {
  uuid: 'must be an id such as 0199c0de-0000-7000-8000-000000000001',
  datetime: 'must be a date and time such as 2026-11-23T08:00:00Z',
  date: 'must be a date such as 2026-11-23',
  url: 'must be a URL such as https://example.com/path',
  email: 'must be an e-mail address',
  base64: 'must be base64',
};

/**
 * Describes a fault that a schema found, as people and agents read it after the name of the field.
 * A message that the schema itself has takes precedence.
 */
export function wordsOfIssue(issue: RawIssue): string {
  switch (issue.code) {
    case 'too_big':
    case 'too_small':
      return wordsOfSize(issue);
    case 'invalid_type':
      return `must be ${typeWords[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'invalid_value': {
      const values = issue.values.slice(0, valuesListedMax).map(String);
      return values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`;
    }
    case 'invalid_format': {
      const { format, pattern } = issue as { format: string; pattern?: string };
      if (format === 'regex')
        return `must match the pattern ${String(pattern).slice(0, patternCharactersMax)}`;
      return formatWords[format] ?? `is not written as ${format.replaceAll('_', ' ')} needs it`;
    }
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return 'has a field that is not known';
    case 'invalid_key':
      return 'is a name that is not allowed here';
    default:
      return 'is not valid';
  }
}

const typeWords: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

function wordsOfSize(issue: Sized): string {
  const isTooBig = issue.code === 'too_big';
  const limit = issue.code === 'too_big' ? issue.maximum : issue.minimum;
  const { unit, verb } = unitOf(issue.origin, limit);
  if (!isTooBig && unit !== '' && Number(limit) === 1) return 'must not be empty';
  const bound =
    issue.inclusive === false
      ? `${isTooBig ? 'less' : 'more'} than`
      : `at ${isTooBig ? 'most' : 'least'}`;
  return `must ${verb} ${bound} ${limit}${unit === '' ? '' : ` ${unit}`}`;
}

function unitOf(origin: string, limit: number | bigint): { unit: string; verb: string } {
  const isOne = Number(limit) === 1;
  switch (origin) {
    case 'string':
      return { unit: isOne ? 'character' : 'characters', verb: 'have' };
    case 'array':
    case 'set':
      return { unit: isOne ? 'item' : 'items', verb: 'have' };
    case 'map':
    case 'object':
    case 'record':
      return { unit: isOne ? 'entry' : 'entries', verb: 'have' };
    default:
      return { unit: '', verb: 'be' };
  }
}
