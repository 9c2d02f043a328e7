import { expect, test } from 'vitest';

import { serviceTitleOf } from './service-title.ts';

test.for([
  ['global', 'GitHub', 'GitHub'],
  ['org', 'Our GitHub', 'Our GitHub'],
  ['org', 'Git\u202eHub', String.raw`Git\u202eHub`],
  // A member could give its own template the title of any service.
  ['user', 'GitHub', undefined],
] as const)('a template of tier %s with the title %j is shown as %j', ([tier, title, shown]) => {
  expect(serviceTitleOf({ tier }, { title })).toBe(shown);
});
