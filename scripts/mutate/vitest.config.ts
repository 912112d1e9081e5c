import { mergeConfig } from 'vitest/config'
import config from '../../vitest.config.ts'

/** The test configuration, for the tests that `run.ts` selected. */
const include = (process.env.MUTATE_TESTS ?? '').split(',').filter(Boolean)

export default mergeConfig({ ...config, test: {} }, { test: { include, testTimeout: 20_000 } })
