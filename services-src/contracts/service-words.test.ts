import { expect, test } from 'vitest';

import { serviceWords } from './service-words.ts';

test.for([
  ['github', 'github', 'GitHub', 'GitHub'],
  ['org/github', 'github', 'GitHub', 'GitHub (org/github)'],
  ['work', 'github', 'GitHub', 'GitHub (work)'],
  ['github', 'evil', undefined, 'github'],
  ['http', null, undefined, 'http'],
] as const)(
  'people read the service %s of the template %s with the title %s as %s',
  ([service, template, title, words]) => {
    expect(serviceWords({ service, template, title })).toBe(words);
  },
);
