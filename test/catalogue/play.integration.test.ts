import { expect, test } from 'vitest';

import { readCheck, readDocuments } from './check.ts';
import { play } from './play.ts';
import { compileFile } from './template-files.ts';

// All of them: `npm run catalogue`.
test.for(['jira', 'sendgrid'])(
  "Prism's mock of the provider's document takes a call of every action of %s",
  async (key) => {
    const check = readCheck(key);

    expect(await play(compileFile(`${key}.yaml`), check, readDocuments(check.documents))).toEqual(
      [],
    );
  },
);
