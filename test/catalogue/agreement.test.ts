import { describe, expect, test } from 'vitest';

import { differences } from './agreement.ts';
import { readCheck, readDocuments } from './check.ts';
import { compileFile, templateFiles } from './template-files.ts';

const all = templateFiles.map((file) => {
  const template = compileFile(file);
  return { key: template.key, template, check: readCheck(template.key) };
});

/** What providers publish about their own APIs is the judge of what our files say about them. */
describe.for(all.filter(({ check }) => check.documents.length > 0))(
  '$key beside the documents of its provider',
  ({ template, check }) => {
    const found = differences(template, check, readDocuments(check.documents)).map(
      ({ action, about }) => `${action}: ${about}`,
    );
    const excepted = check.exceptions.map(({ action, about }) => `${action}: ${about}`);

    test('agrees with them in paths, methods and parameters', () => {
      expect(found.filter((difference) => !excepted.includes(difference))).toEqual([]);
    });

    test('has no exception that is not one', () => {
      expect(excepted.filter((exception) => !found.includes(exception))).toEqual([]);
    });
  },
);

describe.for(all)('$key', ({ template, check }) => {
  test('is held against documents, or says why there are none', () => {
    expect(check.documents.length > 0).toBe(check.undocumented === undefined);
  });

  test('has one call of each action', () => {
    expect(Object.keys(check.calls).toSorted()).toEqual(Object.keys(template.actions).toSorted());
  });
});
