import { fuzz } from '../../../../../test/fuzz.ts'
import {
  anyQuery,
  anyText,
  expectFilters,
  expectFoundOrRefused,
  expectWithinFilters,
} from './any-query.fixture.ts'

fuzz('a query is read, or throws query-invalid or pattern-invalid', anyText, expectFoundOrRefused)

fuzz('a query finds only what passes its filters', anyQuery, async (text) => {
  await expectFilters(text)
  await expectWithinFilters(text)
})
