import { describe, expect, test } from 'vitest';

import { findDifferences } from './agreement.ts';
import { readCheck, readDocuments } from './check.ts';
import { compileFile, templateFiles } from './template-files.ts';

const checkedTemplates = templateFiles.map((file) => {
  const template = compileFile(file);
  return { key: template.key, template, check: readCheck(template.key) };
});

/**
 * Compares each built-in template with the documents that the service's provider publishes about
 * its API.
 */
describe.for(checkedTemplates.filter(({ check }) => check.documents.length > 0))(
  'the built-in template $key',
  ({ template, check }) => {
    const foundDifferences = findDifferences(template, check, readDocuments(check.documents)).map(
      ({ action, about }) => `${action}: ${about}`,
    );
    const exceptedTexts = check.exceptions.map(({ action, about }) => `${action}: ${about}`);

    test('agrees with its provider’s documents in paths, methods and parameters', () => {
      expect(foundDifferences.filter((difference) => !exceptedTexts.includes(difference))).toEqual(
        [],
      );
    });

    test('has no exception for a difference that no longer exists', () => {
      expect(exceptedTexts.filter((exception) => !foundDifferences.includes(exception))).toEqual(
        [],
      );
    });
  },
);

describe.for(checkedTemplates)('the check of the built-in template $key', ({ template, check }) => {
  test("names the provider's documents, or gives the reason why the provider publishes none", () => {
    expect(check.documents.length > 0).toBe(check.undocumented === undefined);
  });

  test('contains one example call of each action', () => {
    expect(Object.keys(check.calls).toSorted()).toEqual(Object.keys(template.actions).toSorted());
  });
});
