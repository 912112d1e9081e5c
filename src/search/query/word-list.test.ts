import { describe, expect, it } from 'vitest'
import { sampleListing } from '../searcher-contract.ts'
import { isWordList } from './word-list.ts'

const WORDS =
  'invoice customer ticket message event order photo build album contract payment branch release workflow'

describe('a word list', () => {
  it.each([
    ['a name of many words', sampleListing(WORDS.replaceAll(' ', '_'), 'Does it')],
    ['a description without grammar', sampleListing('do_it', `${WORDS} ${WORDS}`)],
  ])('is %s', (_, listing) => {
    expect(isWordList(listing)).toBe(true)
  })

  it.each([
    ['a short description', sampleListing('list_invoices', 'List customer invoices')],
    [
      'prose',
      sampleListing(
        'get_forecast',
        'Returns the weather forecast for a city over the next days, with the temperature at noon and the chance of rain.',
      ),
    ],
    [
      'prose in another language',
      sampleListing(
        'wetter',
        'Gibt die Wettervorhersage für eine Stadt in den nächsten Tagen zurück, mit der Temperatur am Mittag und der Regenmenge.',
      ),
    ],
    [
      'a script without Latin letters',
      sampleListing('search', '使用必应搜索指定的关键词，并返回搜索结果列表'.repeat(4)),
    ],
  ])('is not %s', (_, listing) => {
    expect(isWordList(listing)).toBe(false)
  })
})
