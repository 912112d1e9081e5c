import { mergeConfig } from 'vitest/config'
import config from '../../vitest.config.ts'

/** The test configuration, for the tests that `run.ts` selected. */
const include = (process.env.MUTATE_TESTS ?? '').split(',').filter(Boolean)

// Some tests beside the code start the programs and the Redis server of the whole flows.
const globalSetup = ['./test/bundle-programs.ts', './test/redis-server.ts']

export default mergeConfig(
  { ...config, test: {} },
  { test: { include, testTimeout: 20_000, globalSetup, env: config.test?.env } },
)
