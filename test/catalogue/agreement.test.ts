import { describe, expect, test } from 'vitest';

import { differences } from './agreement.ts';
import { readCheck, readDocuments } from './check.ts';
import { compileFile, templateFiles } from './template-files.ts';

/** What providers publish about their own APIs is the judge of what our files say about them. */
describe.for(templateFiles.map((file) => compileFile(file)))('$key', (template) => {
  const check = readCheck(template.key);
  const found = differences(template, check, readDocuments(check.documents));
  const isExcepted = (action: string, about: string) =>
    check.exceptions.some((each) => each.action === action && each.about === about);

  test('is held against the documents of its provider, or says why there is none', () => {
    expect(check.documents.length > 0).toBe(check.undocumented === undefined);
  });

  test.runIf(check.documents.length > 0)(
    'agrees with them in paths, methods and parameters',
    () => {
      expect(found.filter(({ action, about }) => !isExcepted(action, about))).toEqual([]);
    },
  );

  test('has no exception that is not one', () => {
    const all = found.map(({ action, about }) => `${action}: ${about}`);

    expect(
      check.exceptions
        .map(({ action, about }) => `${action}: ${about}`)
        .filter((each) => !all.includes(each)),
    ).toEqual([]);
  });

  test('has one call of each action', () => {
    expect(Object.keys(check.calls).toSorted()).toEqual(Object.keys(template.actions).toSorted());
  });
});
