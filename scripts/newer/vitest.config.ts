import { mergeConfig } from 'vitest/config'
import config from '../../vitest.config.ts'

/** The test configuration, for the tests of the dialects and of the models that the agent loop calls. */
export default mergeConfig(
  { ...config, test: { ...config.test, projects: undefined } },
  {
    resolve: { alias: [{ find: /^openai$/, replacement: process.env.NEWER_OPENAI ?? 'openai' }] },
    test: {
      include: ['{src,test}/dialects/**/*.test.ts', '{src,test}/agent/**/models.test.ts'],
      // One of them starts a program.
      globalSetup: ['./test/bundle-programs.ts'],
    },
  },
)
