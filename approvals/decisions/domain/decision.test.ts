import { describe, expect, test } from 'vitest';

import {
  decisionWordNames,
  decisionWords,
  fieldsOfWords,
  fieldNeedOf,
  listWordsThatTake,
} from '#contracts/decision-words';
import type { ResolveApprovalBody } from '#contracts/http/approvals';
import { sampleDecisions, sampleFields } from '../../../test/support/decision-bodies.ts';
import { parseDecision, reasonOf } from './decision.ts';

const permissionKey = 'github:issues.create:acme/site';

describe('the body of a request to resolve an approval', () => {
  test.for<[body: ResolveApprovalBody, expected: unknown]>([
    [{ resolution: 'allow' }, { move: 'allow', reason: null, remember: null, acknowledge: null }],
    [
      { resolution: 'allow', acknowledge: 'too_large' },
      { move: 'allow', reason: null, remember: null, acknowledge: 'too_large' },
    ],
    [
      { resolution: 'allow_once', reason: 'ok' },
      { move: 'allow', reason: 'ok', remember: null, acknowledge: null },
    ],
    [
      { resolution: 'allow_remember' },
      {
        move: 'allow',
        reason: null,
        remember: { keys: undefined, ttlSeconds: 'default', cascade: true },
        acknowledge: null,
      },
    ],
    [
      { resolution: 'allow_always' },
      {
        move: 'allow',
        reason: null,
        remember: { keys: undefined, ttlSeconds: 'forever', cascade: true },
        acknowledge: null,
      },
    ],
    [
      { resolution: 'allow_always', ttl: '24h', remember_keys: [permissionKey], cascade: false },
      {
        move: 'allow',
        reason: null,
        remember: { keys: [permissionKey], ttlSeconds: 86_400, cascade: false },
        acknowledge: null,
      },
    ],
    [
      { resolution: 'deny', reason: 'no\0pe' },
      { move: 'deny', reason: 'nope', remember: null, acknowledge: null },
    ],
    [
      { resolution: 'deny', reason: 'a\u202eb\n👩‍💻' },
      { move: 'deny', reason: 'a\\u202eb\n👩‍💻', remember: null, acknowledge: null },
    ],
    [{ resolution: 'bubble' }, { move: 'bubble', reason: null, remember: null, acknowledge: null }],
  ])('%j is parsed as %j', ([body, expected]) => {
    expect({ ...parseDecision(body), reason: reasonOf(body) }).toEqual(expected);
  });

  test.for<ResolveApprovalBody>([
    { resolution: 'allow', ttl: '24h' },
    { resolution: 'allow_once', remember_keys: [permissionKey] },
    { resolution: 'deny', ttl: '24h' },
    { resolution: 'bubble', remember_keys: [permissionKey] },
    { resolution: 'allow_remember', ttl: 'soon' },
  ])('%j is refused, because a member is invalid or does not belong to the decision', (body) => {
    expect(() => parseDecision(body)).toThrow(expect.objectContaining({ code: 'invalid_params' }));
  });

  test.for(
    decisionWordNames.flatMap((resolution) =>
      fieldsOfWords.map((field) => [resolution, field] as const),
    ),
  )('with the word %s and the field %s is accepted only if the word takes the field', (row) => {
    const [resolution, field] = row;
    const body = { ...sampleDecisions[resolution], [field]: sampleFields[field] };
    const isTaken = fieldNeedOf(resolution, field) !== undefined;

    if (isTaken) expect(parseDecision(body).move).toBe(decisionWords[resolution].move);
    else {
      expect(() => parseDecision(body)).toThrow(
        expect.objectContaining({
          code: 'invalid_params',
          message: `${field} goes with ${listWordsThatTake(field)}, not with ${resolution}.`,
          details: { issues: [expect.objectContaining({ path: field })] },
        }),
      );
    }
  });
});
