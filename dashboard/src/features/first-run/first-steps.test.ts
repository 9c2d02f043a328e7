import { describe, expect, it } from 'vitest';

import type { PublicAgentKey } from '#contracts/http/identities';
import { findRealClient, nextStepOf, playKeyName, progressOf } from './first-steps.ts';

const known = { agent: null, servicesCount: 0, approvalsCount: 0, decidedCount: 0, client: null };
const keyOf = (name: string, lastUsedAt: string | null) =>
  ({ name, last_used_at: lastUsedAt }) as PublicAgentKey;
const at = '2026-11-24T12:00:00.000Z';

describe('the progress of the first steps', () => {
  it('is unknown until everything is known', () => {
    expect(progressOf({ ...known, decidedCount: undefined })).toBeUndefined();
    expect(progressOf({ ...known, agent: undefined })).toBeUndefined();
  });

  it('continues with the first step that is not done, even if a later step is done', () => {
    const progress = progressOf({ ...known, agent: { name: 'bot' }, approvalsCount: 1 });
    expect(progress && nextStepOf(progress)).toBe('service');
  });

  it('ends when all steps are done', () => {
    const progress = progressOf({
      agent: { name: 'bot' },
      servicesCount: 1,
      approvalsCount: 1,
      decidedCount: 1,
      client: { name: 'laptop', at },
    });
    expect(progress && nextStepOf(progress)).toBeUndefined();
  });
});

describe('the first real client of a person', () => {
  it('is a key or program that was used, but never the key that the dashboard itself uses', () => {
    expect(findRealClient([keyOf(playKeyName, at), keyOf('laptop', null)], [])).toBeNull();
    expect(findRealClient([keyOf('laptop', at)], [])).toEqual({ name: 'laptop', at });
  });
});
