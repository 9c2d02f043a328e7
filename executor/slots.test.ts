import { describe, expect, test } from 'vitest';

import { createSlots } from './slots.ts';

const busy = { code: 'unavailable', details: { component: 'executor', busy: true } };

function filled(max: number, origin: string) {
  const slots = createSlots(max);
  const held: Disposable[] = [];
  const go = (url: string) => {
    const slot = slots.take();
    try {
      slot.goTo(url);
      held.push(slot);
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  };
  for (;;) {
    try {
      go(`${origin}/a`);
    } catch (error) {
      expect(error).toMatchObject(busy);
      return { go, held };
    }
  }
}

describe('slots', () => {
  test('are all there for many origins, and no more', () => {
    const { go, held } = filled(64, 'https://slow.example');
    for (let n = held.length; n < 64; n += 1) go(`https://up${n}.example/`);

    expect(() => go('https://other.example/')).toThrow(expect.objectContaining(busy));
  });

  test('of one origin leave a tenth to the others', () => {
    const { go, held } = filled(64, 'https://slow.example');

    expect(held).toHaveLength(58);
    go('https://quick.example/');
    expect(() => go('https://slow.example/other')).toThrow(expect.objectContaining(busy));
  });

  test('are not all taken by two slow origins either', () => {
    const { go, held } = filled(64, 'https://slow.example');
    for (let n = 0; n < 10; n += 1) {
      try {
        go('https://slower.example/');
      } catch {
        // Few of those that are left are for it.
      }
    }

    expect(held).toHaveLength(60);
    go('https://quick.example/');
  });

  test('come back', () => {
    const { go, held } = filled(64, 'https://slow.example');
    held.pop()?.[Symbol.dispose]();
    held.pop()?.[Symbol.dispose]();

    go('https://slow.example/');
    expect(held).toHaveLength(57);
  });

  test('that are few are not reserved', () => {
    expect(filled(4, 'https://slow.example').held).toHaveLength(4);
  });
});
