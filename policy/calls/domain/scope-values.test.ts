import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { CompiledAction, ScopeParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { compilePattern, matchesKey } from '#permission-key';
import { actionOf, paramOf } from '../../action.testing.ts';
import { couldDeny, deniesKey } from '../../denials/domain/deny-patterns.ts';
import { listActionNames } from '../../denials/domain/deny-names.ts';
import { hostileText, propertyRuns } from '../../properties.testing.ts';
import { keysOfCall } from './scope-values.ts';

const textSchema = { type: 'string' };
const listOfTexts = { type: 'array', items: textSchema };
const objectSchema = (properties: Record<string, JsonValue>) => ({ type: 'object', properties });
const fieldsSchema = objectSchema({
  project: objectSchema({ key: textSchema }),
  issuetype: objectSchema({ name: textSchema }),
});
const peopleSchema = { type: 'array', items: objectSchema({ email: textSchema }) };

const actionWithScope = (scopeParam: ScopeParam | null): CompiledAction =>
  actionOf('send', {
    method: 'POST',
    path: '/send',
    risk: 'write',
    params: [
      paramOf('fields', 'body', { schema: fieldsSchema }),
      paramOf('people', 'body', { schema: peopleSchema }),
      ...['to', 'cc', 'bcc'].map((name) => paramOf(name, 'body', { schema: listOfTexts })),
      paramOf('repo', 'body', { schema: textSchema }),
    ],
    body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
    scopeParam,
  });
const issueAction = actionWithScope([
  { params: ['fields.project.key'], label: 'project' },
  { params: ['fields.issuetype.name'], label: 'type' },
]);
const mailAction = actionWithScope([
  { params: ['to[]', 'cc[]', 'bcc[]'], label: 'recipient', as: 'email' },
]);
const nestedAction = actionWithScope([
  { params: ['people[].email'], label: 'recipient', as: 'email' },
]);
const lowerCaseAction = actionWithScope([{ params: ['repo'], label: 'repository', as: 'lower' }]);

const createIssueParams = (key: JsonValue, name: JsonValue) => ({
  fields: { project: { key }, issuetype: { name } },
});
const argsOf = (of: CompiledAction, params: Record<string, JsonValue>) =>
  keysOfCall('svc', of, params).map(({ arg }) => arg);

function isDenied(of: CompiledAction, params: Record<string, JsonValue>, pattern: string): boolean {
  const keys = keysOfCall('svc', of, params);
  const denyPattern = compilePattern(`svc:send:${pattern}`, false);
  const names = listActionNames(['svc'], { action: 'send', keys, risk: 'write' });
  return (
    keys.some((key) => deniesKey(denyPattern, key)) ||
    names.some((name) => couldDeny(denyPattern, name))
  );
}
const isAllowed = (
  of: CompiledAction,
  params: Record<string, JsonValue>,
  ...patterns: readonly string[]
) =>
  keysOfCall('svc', of, params).every((key) =>
    patterns.some((pattern) => matchesKey(compilePattern(`svc:send:${pattern}`, false), key)),
  );

describe('the permission keys of a call', () => {
  test.for<[string, CompiledAction, Record<string, JsonValue>, string[]]>([
    ['have one position for each value', issueAction, createIssueParams('OPS', 'Bug'), ['OPS/Bug']],
    ['encode a slash in a position', issueAction, createIssueParams('a/b', 'c'), ['a%2Fb/c']],
    ['encode a wildcard in a position', issueAction, createIssueParams('*', '%2F'), ['%2A/%252F']],
    [
      'have * for an absent position',
      issueAction,
      { fields: { project: { key: 'OPS' } } },
      ['OPS/*'],
    ],
    [
      'are only the key of the whole action when no value is given',
      issueAction,
      { fields: {} },
      ['*'],
    ],
    [
      'contain one key for each distinct address',
      mailAction,
      { to: ['A@x.example', 'a@x.example', 'b@y.example'] },
      ['a@x.example', 'b@y.example'],
    ],
    [
      'include the recipients of blind copies',
      mailAction,
      { to: ['a@x.example'], bcc: ['Eve <e@z.example>'] },
      ['a@x.example', 'e@z.example'],
    ],
    ['encode a slash in an address', mailAction, { to: ['a/b@x.example'] }, ['a%2Fb@x.example']],
    [
      'are only the key of the whole action when there are no recipients',
      mailAction,
      { to: [] },
      ['*'],
    ],
    [
      'contain the key of the whole action for an item without address',
      nestedAction,
      { people: [{ email: 'a@x.example' }, {}] },
      ['a@x.example', '*'],
    ],
    ['fold capital letters', lowerCaseAction, { repo: 'Acme/Site' }, ['acme/site']],
    ['fold ASCII letters only', lowerCaseAction, { repo: '\u212a' }, ['\u212a']],
  ])('%s', ([, of, params, expected]) => {
    expect(argsOf(of, params)).toEqual(expected);
  });

  test('are only the key of the whole action when there are more than 20 values', () => {
    const to = (count: number) => Array.from({ length: count }, (_, at) => `a${at}@x.example`);
    expect(argsOf(mailAction, { to: to(20) })).toHaveLength(20);
    expect(argsOf(mailAction, { to: to(21) })).toEqual(['*']);
  });

  test.for<[string, CompiledAction, Record<string, JsonValue>]>([
    ['a list in one value', mailAction, { to: ['a@x.example,b@y.example'] }],
    [
      'a display name that contains an address',
      mailAction,
      { to: ['"b@y.example" <a@x.example>'] },
    ],
    ['no address', mailAction, { bcc: ['everybody'] }],
    [
      'a member in a second spelling',
      issueAction,
      { fields: { project: { key: 'OPS', Key: 'SEC' } } },
    ],
    [
      'a nested object in a second spelling',
      issueAction,
      { fields: { project: { key: 'OPS' }, Project: { key: 'SEC' } } },
    ],
    ['a value that is too long', lowerCaseAction, { repo: 'a'.repeat(5_000) }],
  ])('are refused for %s', ([, of, params]) => {
    expect(() => argsOf(of, params)).toThrow(expect.objectContaining({ code: 'invalid_params' }));
  });

  test('contain no wildcard or position separator that comes from a value', () => {
    fc.assert(
      fc.property(hostileText, hostileText, (left, right) => {
        const [arg = ''] = argsOf(issueAction, createIssueParams(left, right));
        expect(arg.split('/')).toHaveLength(2);
        expect(arg).not.toContain('*');
        // Different values give different keys.
        const [swapped] = argsOf(issueAction, createIssueParams(right, left));
        if (left !== right) expect(swapped).not.toBe(arg);
      }),
      { numRuns: propertyRuns },
    );
  });
});

describe('rules on permission keys', () => {
  test('allow a call only when they allow each of its keys', () => {
    const params = { to: ['a@acme.example'], bcc: ['b@evil.example'] };
    expect(isAllowed(mailAction, { to: ['a@acme.example'] }, '*@acme.example')).toBe(true);
    expect(isAllowed(mailAction, params, '*@acme.example')).toBe(false);
    expect(isAllowed(mailAction, params, '*@acme.example', 'b@evil.example')).toBe(true);
    expect(isAllowed(mailAction, { to: ['a/x@acme.example'] }, '*@acme.example')).toBe(true);
  });

  test('do not allow a mixed pair when they remember two pairs of values', () => {
    const rules = ['OPS/Bug', 'WEB/Task'];
    expect(isAllowed(issueAction, createIssueParams('OPS', 'Bug'), ...rules)).toBe(true);
    expect(isAllowed(issueAction, createIssueParams('OPS', 'Task'), ...rules)).toBe(false);
    expect(isAllowed(issueAction, createIssueParams('OPS/Bug', ''), ...rules)).toBe(false);
    expect(isAllowed(issueAction, { fields: { project: { key: 'OPS' } } }, ...rules)).toBe(false);
    expect(isAllowed(issueAction, { fields: { project: { key: 'OPS' } } }, 'OPS/*')).toBe(true);
  });

  test('match, for a case-insensitive value, only lower case when they allow and any case when they deny', () => {
    for (const repo of ['acme/site', 'Acme/Site', 'ACME/SITE']) {
      expect(isAllowed(lowerCaseAction, { repo }, 'acme/site')).toBe(true);
      expect(isAllowed(lowerCaseAction, { repo }, 'acme/*')).toBe(true);
      expect(isAllowed(lowerCaseAction, { repo }, 'Acme/Site')).toBe(false);
      for (const pattern of ['acme/site', 'Acme/Site', 'ACME/*']) {
        expect(isDenied(lowerCaseAction, { repo }, pattern)).toBe(true);
      }
    }
    expect(isDenied(lowerCaseAction, { repo: 'evil/site' }, 'Acme/Site')).toBe(false);
  });

  test.for<[string, CompiledAction, Record<string, JsonValue>, string, boolean]>([
    [
      'one of several values',
      mailAction,
      { to: ['a@x.example'], bcc: ['b@evil.example'] },
      '*@evil.example',
      true,
    ],
    ['a value in capitals', mailAction, { cc: ['B@EVIL.example'] }, 'b@evil.example', true],
    [
      'no address with a detail after the plus sign',
      mailAction,
      { cc: ['b+x@evil.example'] },
      'b@evil.example',
      false,
    ],
    ['no other value', mailAction, { to: ['a@x.example'] }, '*@evil.example', false],
    ['a call without recipients', mailAction, {}, '*@evil.example', true],
    [
      'more values than there can be keys',
      mailAction,
      { to: Array.from({ length: 30 }, (_, at) => `${at}@x.example`) },
      '*@evil.example',
      true,
    ],
    ['a position in another case', issueAction, createIssueParams(' sec ', 'Bug'), 'SEC/*', true],
    ['the other position', issueAction, createIssueParams('OPS', 'bug'), '*/Bug', true],
    [
      'a list in one position',
      issueAction,
      createIssueParams(['OPS', 'SEC'], 'Bug'),
      'SEC/*',
      true,
    ],
    [
      'no text that merely contains the value',
      issueAction,
      createIssueParams('OPS,SEC', 'Bug'),
      'SEC/*',
      false,
    ],
    [
      'an absent position that could match',
      issueAction,
      { fields: { project: { key: 'SEC' } } },
      'SEC/Bug',
      true,
    ],
    [
      'no call whose other position differs',
      issueAction,
      { fields: { project: { key: 'OPS' } } },
      'SEC/*',
      false,
    ],
    ['a repository in capitals', lowerCaseAction, { repo: 'ACME/Site' }, 'acme/site', true],
  ])('deny %s', ([, of, params, pattern, expected]) => {
    expect(isDenied(of, params, pattern)).toBe(expected);
  });
});
