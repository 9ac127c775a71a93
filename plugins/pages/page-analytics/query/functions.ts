// Allowed functions of a query. Refused functions read files, settings, the catalog or the process clock, run text as SQL, sleep
// or log. Functions that build a value of any size from a small one (repeat, lpad, format) are also refused.

const aggregates = `any_value approx_count_distinct approx_quantile approx_top_k arg_max arg_max_null arg_min arg_min_null
  argmax argmin array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if count_star countif covar_pop
  covar_samp entropy favg first fsum geomean geometric_mean group_concat histogram kurtosis kurtosis_pop last list listagg
  mad max max_by mean median min min_by mode product quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count
  regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy reservoir_quantile sem skewness stddev stddev_pop
  stddev_samp string_agg sum sumkahan kahan_sum var_pop var_samp variance wavg weighted_avg grouping`

const windows = `cume_dist dense_rank fill first_value lag last_value lead nth_value ntile percent_rank rank rank_dense row_number`

const numbers = `+ - * / // % ** ^ & | << >> ~ abs acos add asin atan atan2 bit_count cbrt ceil ceiling cos cot degrees divide
  even exp factorial fdiv floor fmod gamma gcd greatest greatest_common_divisor isfinite isinf isnan lcm least ln log log10
  log2 mod multiply nextafter pi pow power radians random round round_even sign signbit sin sqrt subtract tan trunc
  equi_width_bins xor`

const texts = `|| ~~ !~~ ~~* !~~* ~~~ @ ^@ ascii char_length character_length chr concat concat_ws contains damerau_levenshtein
  ends_with hamming instr ilike_escape like_escape not_ilike_escape not_like_escape jaccard jaro_similarity
  jaro_winkler_similarity lcase left left_grapheme len length length_grapheme levenshtein lower ltrim md5 nfc_normalize ord
  position prefix regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
  regexp_split_to_array replace reverse right right_grapheme rtrim sha256 split split_part starts_with str_split
  str_split_regex string_split string_split_regex string_to_array strip_accents strlen strpos substr substring
  substring_grapheme suffix translate trim ucase unicode upper url_decode url_encode hash md5_number uuid gen_random_uuid`

const times = `age century current_date current_timestamp date_add date_diff date_part date_sub date_trunc datediff datepart
  datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns epoch_us era
  get_current_timestamp hour isodow isoyear julian last_day make_date make_time make_timestamp make_timestamptz microsecond
  millennium millisecond minute month monthname now quarter second strftime strptime time_bucket timezone timezone_hour
  timezone_minute to_centuries to_days to_decades to_hours to_microseconds to_milliseconds to_minutes to_months to_quarters
  to_seconds to_timestamp to_weeks to_years today transaction_timestamp try_strptime week weekday weekofyear year yearweek`

const nested = `&& <@ @> array_append array_cat array_concat array_contains array_distinct array_extract array_filter
  array_has array_has_all array_has_any array_indexof array_intersect array_length array_pop_back array_pop_front
  array_position array_prepend array_push_back array_push_front array_reverse array_slice array_sort array_to_string
  array_transform array_unique array_value array_zip cardinality element_at flatten list_any_value list_append list_apply
  list_avg list_cat list_concat list_contains list_count list_distinct list_extract list_filter list_first list_has
  list_has_all list_has_any list_indexof list_intersect list_last list_max list_median list_min list_mode list_pack
  list_position list_prepend list_reduce list_reverse list_reverse_sort list_select list_slice list_sort list_sum
  list_transform list_unique list_value list_where list_zip map map_concat map_contains map_entries map_extract
  map_extract_value map_from_entries map_keys map_values row struct_concat struct_extract struct_extract_at struct_insert
  struct_keys struct_pack struct_update struct_values unpivot_list unnest generate_subscripts range generate_series`

const documents = `-> ->> json json_array json_array_length json_contains json_exists json_extract json_extract_path
  json_extract_path_text json_extract_string json_group_array json_group_object json_keys json_object json_quote
  json_structure json_type json_valid json_value array_to_json row_to_json to_json`

const others = `coalesce if ifnull nullif constant_or_null typeof try`

const split = (names: string) => names.split(/\s+/)

export const allowedFunctions: ReadonlySet<string> = new Set(
  [aggregates, windows, numbers, texts, times, nested, documents, others].flatMap(split),
)

/** Allowed in FROM. */
export const allowedTableFunctions: ReadonlySet<string> = new Set(["range", "generate_series", "unnest"])

/** Functions with results beyond the rows: clock functions, which return the time of the copy, and random functions. */
export const clockTimes = ["now", "current_timestamp", "get_current_timestamp", "transaction_timestamp"]
export const clockDates = ["today", "current_date"]

/** Matches every query that calls a clock function. */
export const namesClock = new RegExp(`\\b(?:${[...clockTimes, ...clockDates].join("|")})\\b`, "i")

const random = new Set(["random", "uuid", "gen_random_uuid", "reservoir_quantile"])

/** Start of the message if a query cannot be repeated with a snapshot. */
export const notRepeatable = "With a snapshot these are not supported, since they answer otherwise each time: "

/** Returns the call's text if its result does not depend on the rows alone, otherwise undefined. */
export function changingCall(name: string, schema: string, argumentCount: number): string | undefined {
  const isClock = clockTimes.includes(name) || clockDates.includes(name)
  // `age` of one time counts from today; `pg_catalog` bypasses the fixed clock.
  if (random.has(name) || (name === "age" && argumentCount === 1) || (isClock && schema === "pg_catalog")) return `${name}()`
  return undefined
}
