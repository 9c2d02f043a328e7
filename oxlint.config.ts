import { defineConfig } from 'oxlint';

const components = 'gateway|auth|registry|policy|executor|approvals|notifier|audit|cli|dashboard';

/** A component reaches another one over the bus, never by import. */
const otherComponents = {
  regex: `^(\\.\\./)+(${components})/`,
  message: 'Components talk over the bus. Import a contract from #contracts instead.',
};
const sqlOutsideRepositories = {
  regex: '^(pg|postgres)$',
  message: 'SQL lives in <component>/repository/.',
};
const anythingWithEffects = {
  regex:
    '^(#bus|#database|#events|#egress|#telemetry|#process|node:(fs|net|http|https|child_process)|.*/(repository|usecases)/)',
  message: 'domain/ is pure: no I/O, no clock, no other layer.',
};
const drivers = {
  regex: '^(postgres|pg|fastify|@nats-io/.*)$',
  message: 'Use cases are given what they need in deps.ts.',
};
const anythingButZod = {
  regex: '^([^.z]|z[^o]|zo[^d])',
  message: 'contracts/ is a leaf: it imports zod and itself.',
};
const internals = {
  regex:
    '^#(bus|config|database|egress|errors|events|process|signing|telemetry|contracts/(bus|define|permit|template))',
  message: 'The dashboard knows only what is public: #contracts/http and #contracts/vocabulary.',
};

export default defineConfig({
  ignorePatterns: ['**/node_modules/**', '**/dist/**', '**/.data/**'],
  jsPlugins: ['eslint-plugin-solid'],
  plugins: ['typescript', 'import', 'unicorn', 'promise', 'vitest'],
  options: { typeAware: true },
  categories: { correctness: 'error', suspicious: 'error' },
  rules: {
    'no-console': 'error',
    'no-underscore-dangle': 'off',
    'no-await-in-loop': 'off', // sequence is often the point; concurrency is written where it is meant
    'no-shadow': 'off',
    'no-unmodified-loop-condition': 'off', // `stopped` is changed by a disposer, which it does not see
    'unicorn/consistent-function-scoping': 'off',
    'import/no-named-as-default-member': 'off',
    'promise/always-return': 'off',
    'unicorn/require-module-specifiers': 'off',
    'vitest/require-mock-type-parameters': 'off',
    'typescript/consistent-return': 'off', // tsc's noImplicitReturns and exhaustive switches cover it
    'typescript/no-unnecessary-type-parameters': 'off',
    'typescript/no-unsafe-type-assertion': 'off', // parsing happens at the boundary; a cast there says so
    eqeqeq: 'error',
    'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
    'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
    'import/no-cycle': 'error',
    'import/no-default-export': 'error',
    'import/consistent-type-specifier-style': ['error', 'prefer-top-level'],
    'typescript/consistent-type-imports': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/switch-exhaustiveness-check': [
      'error',
      { considerDefaultExhaustiveForUnions: true },
    ],
    'no-unused-vars': [
      'error',
      { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
    ],
    'typescript/no-explicit-any': 'error',
    'no-restricted-imports': ['error', { patterns: [otherComponents, sqlOutsideRepositories] }],
  },
  overrides: [
    {
      files: ['*/repository/**', 'services-src/database/**', 'provision.ts', 'launch.ts'],
      rules: { 'no-restricted-imports': ['error', { patterns: [otherComponents] }] },
    },
    {
      files: ['*/usecases/**'],
      rules: { 'no-restricted-imports': ['error', { patterns: [otherComponents, drivers] }] },
    },
    {
      files: ['*/domain/**'],
      excludeFiles: ['**/*.test.ts'],
      rules: {
        'no-restricted-imports': [
          'error',
          { patterns: [otherComponents, sqlOutsideRepositories, anythingWithEffects] },
        ],
      },
    },
    {
      files: ['services-src/contracts/**'],
      excludeFiles: ['**/*.test.ts'],
      rules: {
        'no-restricted-imports': ['error', { patterns: [otherComponents, anythingButZod] }],
      },
    },
    {
      // One table each: their length is the number of endpoints and settings, not complexity.
      files: ['services-src/contracts/**', 'services-src/config/settings.ts'],
      rules: { 'max-lines': 'off' },
    },
    {
      files: ['dashboard/**'],
      rules: {
        'no-restricted-imports': ['error', { patterns: [otherComponents, internals] }],
        'solid/reactivity': 'error',
        'solid/no-destructure': 'error',
        'import/no-unassigned-import': 'off',
        'import/no-default-export': 'off',
        'max-lines-per-function': 'off',
      },
    },
    {
      files: [
        'test/**',
        '**/*.test.ts',
        '**/*.testing.ts',
        '*.config.ts',
        'dashboard/vite.config.ts',
        'deploy/{generate,catalogue}.ts',
      ],
      rules: {
        'no-restricted-imports': 'off',
        'import/no-default-export': 'off',
        'max-lines-per-function': 'off',
        'max-lines': 'off',
        'vitest/expect-expect': 'off', // some suites assert through a helper
        'vitest/no-conditional-expect': 'off',
        'vitest/valid-expect': 'off', // its second argument says which row of a table failed
        'vitest/require-to-throw-message': 'off',
        'typescript/no-unnecessary-type-assertion': 'off',
        'typescript/no-base-to-string': 'off',
      },
    },
    {
      files: ['scripts/**', 'test/{demo,bench,catalogue,corpus,model}/**', 'deploy/**'],
      rules: { 'no-console': 'off' },
    },
  ],
});
