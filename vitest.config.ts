import { defineConfig } from 'vitest/config';

/** `npm test` leaves out the slow files. Vitest alone and `npm run test:all` run them too. */
const isFastSuite = process.env['TEST_SUITE'] === 'fast';
const exclude = [
  '**/node_modules/**',
  '**/dist/**',
  '**/.data/**',
  ...(isFastSuite ? ['**/*.slow.*'] : []),
];

/** Three kinds of tests, which differ in the suffix of their file names. */
export default defineConfig({
  test: {
    // More workers than processors make everything slow and nothing faster.
    maxWorkers: 2,
    // Each worker keeps its process for all its files. A process per file would load the product
    // again each time.
    isolate: false,
    // A polled state may come late on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    setupFiles: ['test/support/property-seed.ts'],
    // The limits are at least three times what a test takes on a slow machine. They only end tests
    // that would never end.
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
          // Each file starts whole products, often with a browser, so one is enough for two
          // processors.
          fileParallelism: false,
        },
      },
    ],
  },
});
