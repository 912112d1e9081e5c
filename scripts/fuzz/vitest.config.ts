import { mergeConfig } from 'vitest/config'
import config from '../../vitest.config.ts'

/** The configuration of the tests, for fuzzers: they take as long as they are told. */
export default mergeConfig({ ...config, test: {} }, { test: { include: ['src/**/*.fuzz.ts'] } })
