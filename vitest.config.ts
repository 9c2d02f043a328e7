import { defineConfig } from 'vitest/config';

import { findMemoryFolder } from './test/support/memory-folder.ts';

/**
 * `npm test` leaves out the slow files. A direct call of vitest and `npm run test:all` run them
 * too.
 */
const isFastSuite = process.env['TEST_SUITE'] === 'fast';
const exclude = [
  '**/node_modules/**',
  '**/dist/**',
  '**/.data/**',
  ...(isFastSuite ? ['**/*.slow.*'] : []),
];

/** Where the tests create temporary files, unless the caller chose a folder. */
const temporaryFolder = process.env['TMPDIR'] ?? findMemoryFolder();
if (temporaryFolder !== null) process.env['TMPDIR'] = temporaryFolder;

/** There are three kinds of tests, which differ in the ending of their file names. */
export default defineConfig({
  test: {
    // More workers than processors would make tests slow and finish nothing earlier.
    maxWorkers: 2,
    // Each worker runs all its files in one process. A process per file would have to load the
    // product each time.
    isolate: false,
    // On a busy machine, a state that a test polls for may come late.
    expect: { poll: { timeout: 30_000 } },
    setupFiles: ['test/support/property-seed.ts'],
    // The limits are at least three times what a test takes on a slow machine. They only stop tests
    // that would otherwise never end.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [...exclude, '**/*.integration.test.ts', '**/*.e2e.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['**/*.integration.test.ts'],
          exclude,
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/{clients,conformance,e2e,faults,skew}/**/*.e2e.test.ts'],
          exclude,
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          // Each file starts whole products, often with a browser. Two files at a time keep two
          // processors busy. The slow files load the machine themselves, or measure it.
          fileParallelism: isFastSuite,
        },
      },
    ],
  },
});
