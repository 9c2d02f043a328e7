import { expect, test } from 'vitest';

import { readCheck, readDocuments } from './check.ts';
import { playExampleCalls } from './play.ts';
import { compileFile } from './template-files.ts';

// This test calls the actions of two templates; `npm run catalogue` calls those of all templates.
test.for(['jira', 'sendgrid'])(
  "Prism's mock of the provider's document accepts the example call of every action of the template %s",
  async (key) => {
    const check = readCheck(key);

    expect(
      await playExampleCalls(compileFile(`${key}.yaml`), check, readDocuments(check.documents)),
    ).toEqual([]);
  },
);
