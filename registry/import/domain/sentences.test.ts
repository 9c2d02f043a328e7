import { describe, expect, test } from 'vitest';

import { chooseSentences } from './sentences.ts';

const choose = (description: string, more: object = {}) =>
  chooseSentences([{ description, ...more }])[0];

describe('the sentence that a person reads before approving an operation', () => {
  test.for<[description: string, sentence: string | undefined]>([
    ['Lists the pets. Slowly.', 'Lists the pets'],
    [
      '**Deprecated:** Use `listAll` instead.\n\nLists the *pets* of a [shop](https://a.example).',
      'Lists the pets of a shop',
    ],
    ['Deprecated since v2. Deletes a pet.', 'Deletes a pet'],
    ['DEPRECATED - Deletes a pet. Removes its photos too.', 'Removes its photos too'],
    ['This endpoint is deprecated. Deletes a pet.', 'Deletes a pet'],
    ['This method has been deprecated and will go away. Deletes a pet.', 'Deletes a pet'],
    ['[Deprecated] Deletes a pet.', 'Deletes a pet'],
    ['[Deprecated] Use the other one instead.', undefined],
    ['**Beta** Creates a pet for a shop.', 'Creates a pet for a shop'],
    ['(Beta) Creates a pet for a shop.', 'Creates a pet for a shop'],
    ['Beta feature for some customers. Creates a pet.', 'Creates a pet'],
    ['> [!WARNING]\n> Warning: this cannot be undone.\n\nDeletes a pet.', 'Deletes a pet'],
    ['Note: needs an admin. Deletes a pet.', 'Deletes a pet'],
    ['Please note that it takes a day. Deletes a pet.', 'Deletes a pet'],
    ['Important! Read this first. Deletes a pet for good.', 'Deletes a pet for good'],
    ['# Overview\nDeletes a pet.', 'Deletes a pet'],
    ['# Delete a pet', 'Delete a pet'],
    ['<p>Deletes a pet.</p><p>Now.</p>', 'Deletes a pet'],
    ['| a | b |\n|---|---|\n\nDeletes a __pet__ by `pet_id`.', 'Deletes a pet by pet_id'],
    ['Notes of a customer are listed.', 'Notes of a customer are listed'],
    ['Preview the invoice of a month.', 'Preview the invoice of a month'],
    ['Lists users, e.g. admins, of a team. More.', 'Lists users, e.g. admins, of a team'],
    ['Deprecated.', undefined],
    ['', undefined],
  ])('is, for the description %j, %j', ([description, sentence]) => {
    expect(choose(description)?.sentence).toBe(sentence);
  });

  test('is not a sentence that several operations have', () => {
    const notice = 'Only for partners of the first hour.';
    const [one, two, three] = chooseSentences([
      { description: `${notice} Deletes a pet.` },
      { description: `${notice.toUpperCase()} Feeds a pet.` },
      { summary: 'Feeds a pet', description: notice },
    ]);
    expect(one?.sentence).toBe('Deletes a pet');
    expect(two?.sentence).toBeUndefined();
    expect(three?.sentence).toBeUndefined();
  });

  test('comes with a separate mark of deprecation', () => {
    expect(choose('Deletes a pet.', { deprecated: true })?.isDeprecated).toBe(true);
    expect(choose('[Deprecated] Deletes a pet.')?.isDeprecated).toBe(true);
    expect(choose('**Deprecated**: Deletes a pet.')?.isDeprecated).toBe(true);
    expect(choose('This endpoint is deprecated. Deletes a pet.')?.isDeprecated).toBe(true);
    expect(choose('Beta: Deletes a pet.')?.isDeprecated).toBe(false);
    expect(choose('Lists what is deprecated.')?.isDeprecated).toBe(false);
  });

  test('takes little more time for a text that was written to be slow', () => {
    for (const part of ['[', '<', '_', '*', '(', '!', 'Note ', '`', '\\\\', 'a.']) {
      expect(chooseSentences([{ description: part.repeat(100_000) }])).toHaveLength(1);
    }
  });
});
