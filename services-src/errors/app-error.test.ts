import { describe, expect, test } from 'vitest';

import { AppError } from './app-error.ts';

describe('the issues of an error', () => {
  test('have paths and messages of at most 200 characters, and keep their other fields', () => {
    const { details } = new AppError('invalid_params', 'Wrong.', {
      details: {
        issues: [
          { path: 'p'.repeat(3_000), message: `${'m'.repeat(198)}😀😀`, expected: 'e'.repeat(300) },
          { path: 'p'.repeat(200), message: 'is required' },
        ],
        other: 'o'.repeat(300),
      },
    });

    expect(details).toEqual({
      issues: [
        {
          path: `${'p'.repeat(199)}…`,
          message: `${'m'.repeat(198)}\ufffd…`,
          expected: 'e'.repeat(300),
        },
        { path: 'p'.repeat(200), message: 'is required' },
      ],
      other: 'o'.repeat(300),
    });
  });
});
