import { defineConfig } from 'vitest/config';

const exclude = ['**/node_modules/**', '**/dist/**', '**/.data/**'];

/** Three kinds of tests, told apart by their suffix. */
export default defineConfig({
  test: {
    // Two servers and a few pools per file: more at once only makes each of them slow.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [...exclude, '**/*.integration.test.ts', '**/*.e2e.test.ts'],
          // Property tests try ten thousand cases, on machines that do other things too.
          testTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['**/*.integration.test.ts'],
          exclude,
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/{clients,conformance,e2e,faults}/**/*.e2e.test.ts'],
          exclude,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // They measure time and start whole products.
          fileParallelism: false,
        },
      },
    ],
  },
});
