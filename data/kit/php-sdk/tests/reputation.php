<?php

/** Checks and reports, quotas and waiting. */

declare(strict_types=1);

use Portcullis\Exception\AuthenticationFailed;
use Portcullis\Exception\ConfigurationError;
use Portcullis\Exception\DuplicateReport;
use Portcullis\Exception\InvalidRequest;
use Portcullis\Exception\QuotaExceeded;
use Portcullis\Exception\ServiceUnavailable;
use Portcullis\Exception\UnexpectedResponse;
use Portcullis\IpReputation;
use Portcullis\Tests\Check;
use Portcullis\Tests\FakeTransport;

return static function (): void {
    $data = [
        'ipAddress' => '198.51.100.7', 'abuseConfidenceScore' => 99, 'countryCode' => 'ZZ', 'isp' => 'Unknown',
        'isAnon' => false, 'totalReports' => 3, 'malicious' => true, 'isPublic' => false, 'ipVersion' => 4,
        'isWhitelisted' => false, 'usageType' => '', 'domain' => null, 'hostnames' => [], 'isTor' => false,
        'numDistinctUsers' => 2, 'lastReportedAt' => '2026-11-21T09:30:00+00:00',
    ];
    $good = FakeTransport::answer(200, ['data' => $data], [
        'X-RateLimit-Limit' => '1000', 'X-RateLimit-Remaining' => '998', 'X-RateLimit-Reset' => '1800000060',
    ]);
    $fault = static fn (int $status, ?string $parameter, array $headers = []) => FakeTransport::answer(
        $status,
        ['errors' => [['detail' => 'No.', 'status' => $status] + ($parameter === null ? [] : ['source' => ['parameter' => $parameter]])]],
        $headers,
    );
    /** @return array{IpReputation, FakeTransport, \ArrayObject<int, int>} */
    $open = static function (array $answers, int $waitSecondsMax = 10): array {
        $slept = new ArrayObject();
        $transport = new FakeTransport($answers);
        $sleep = static function (int $seconds) use ($slept): void {
            $slept->append($seconds);
        };
        $api = new IpReputation('https://ip.example', 'pcl_key', $transport, $waitSecondsMax, $sleep, static fn (): int => 1_800_000_000);
        return [$api, $transport, $slept];
    };

    Check::that('a check is typed, and tells of the quota', static function () use ($open, $good): void {
        [$api, $transport] = $open([$good]);
        Check::same(null, $api->quota());
        $check = $api->check('2001:db8::1', 30);
        Check::same(['198.51.100.7', 99, 'ZZ', 'Unknown', false, 3, true], [$check->ipAddress, $check->abuseConfidenceScore, $check->countryCode, $check->isp, $check->isAnon, $check->totalReports, $check->malicious]);
        Check::same([false, 4, false, 2, '2026-11-21T09:30:00+00:00'], [$check->isPublic, $check->ipVersion, $check->isWhitelisted, $check->numDistinctUsers, $check->lastReportedAt]);
        Check::same('https://ip.example/api/v2/check?ipAddress=2001%3Adb8%3A%3A1&maxAgeInDays=30', $transport->asked[0]['url']);
        Check::same(['GET', 'pcl_key'], [$transport->asked[0]['method'], $transport->asked[0]['headers']['Key']]);
        Check::same([1000, 998, 1_800_000_060], [$api->quota()?->limit, $api->quota()?->remaining, $api->quota()?->resetAt]);
    });

    Check::that('it waits as long as it is told, then asks again', static function () use ($open, $good, $fault): void {
        [$api, $transport, $slept] = $open([$fault(429, null, ['Retry-After' => '4']), $fault(503, null, ['Retry-After' => '5']), $good]);
        Check::same(99, $api->check('198.51.100.7')->abuseConfidenceScore);
        Check::same([[4, 5], 3], [$slept->getArrayCopy(), count($transport->asked)]);
    });

    Check::that('without Retry-After it goes by the time of the reset', static function () use ($open, $good, $fault): void {
        $headers = ['X-RateLimit-Limit' => '1', 'X-RateLimit-Remaining' => '0', 'X-RateLimit-Reset' => '1800000003'];
        [$api, , $slept] = $open([$fault(429, null, $headers), $good]);
        $api->check('198.51.100.7');
        Check::same([3], $slept->getArrayCopy());
    });

    Check::that('it never waits longer in all than allowed, nor tries more than three times', static function () use ($open, $fault): void {
        [$api, , $slept] = $open([$fault(429, null, ['Retry-After' => '11'])]);
        $quota = Check::throws(QuotaExceeded::class, static fn () => $api->check('198.51.100.7'));
        Check::same([11, []], [$quota->retryAfterSeconds, $slept->getArrayCopy()]);
        [$api, , $slept] = $open([$fault(429, null, ['Retry-After' => '6']), $fault(429, null, ['Retry-After' => '6'])]);
        Check::throws(QuotaExceeded::class, static fn () => $api->check('198.51.100.7'));
        Check::same([6], $slept->getArrayCopy());
        [$api, $transport] = $open(array_fill(0, 4, $fault(429, null, ['Retry-After' => '0'])));
        Check::throws(QuotaExceeded::class, static fn () => $api->check('198.51.100.7'));
        Check::same(3, count($transport->asked));
        [$api, , $slept] = $open([$fault(429, null, ['Retry-After' => '1'])], 0);
        Check::throws(QuotaExceeded::class, static fn () => $api->check('198.51.100.7'));
        Check::same([], $slept->getArrayCopy());
        [$api] = $open([$fault(429, null, ['Retry-After' => 'Wed, 21 Oct 2026 07:28:00 GMT'])]);
        Check::throws(QuotaExceeded::class, static fn () => $api->check('198.51.100.7'));
        [$api] = $open([$fault(503, null)]);
        Check::throws(ServiceUnavailable::class, static fn () => $api->check('198.51.100.7'));
    });

    Check::that('a report is a form, with what was given', static function () use ($open): void {
        [$api, $transport] = $open([FakeTransport::answer(200, ['data' => ['ipAddress' => '203.0.113.9', 'abuseConfidenceScore' => 12]])]);
        $report = $api->report('203.0.113.9', [18, 22], 'ssh & more', new DateTimeImmutable('2026-11-21T09:30:00+00:00'));
        Check::same(['203.0.113.9', 12], [$report->ipAddress, $report->abuseConfidenceScore]);
        Check::same(['POST', 'https://ip.example/api/v2/report'], [$transport->asked[0]['method'], $transport->asked[0]['url']]);
        Check::same(['ip' => '203.0.113.9', 'categories' => '18,22', 'comment' => 'ssh & more', 'timestamp' => '2026-11-21T09:30:00+00:00'], $transport->asked[0]['form']);
    });

    Check::that('a blacklist asks with what was given, and tells what was used', static function () use ($open): void {
        $row = ['ipAddress' => '203.0.113.128/25', 'countryCode' => 'ZZ', 'abuseConfidenceScore' => 80, 'lastReportedAt' => '2026-11-21T09:30:00+00:00'];
        $answer = FakeTransport::answer(200, ['meta' => ['generatedAt' => 'x', 'confidenceMinimum' => 75], 'data' => [$row]]);
        [$api, $transport] = $open([$answer, $answer, FakeTransport::answer(200, ['meta' => ['generatedAt' => 'x', 'confidenceMinimum' => 75], 'data' => [[]]])]);
        $list = $api->blacklist();
        Check::same([75, [$row]], [$list->confidenceMinimum, $list->entries]);
        Check::same('https://ip.example/api/v2/blacklist?limit=10000', $transport->asked[0]['url']);
        $api->blacklist(90, 5, ['US', 'FR'], ipVersion: 6);
        Check::same('https://ip.example/api/v2/blacklist?confidenceMinimum=90&limit=5&onlyCountries=US%2CFR&ipVersion=6', $transport->asked[1]['url']);
        Check::throws(UnexpectedResponse::class, static fn () => $api->blacklist());
        Check::throws(ConfigurationError::class, static fn () => $api->blacklist(null, 50_001));
    });

    Check::that('reports come in pages, and a block with its addresses', static function () use ($open): void {
        $report = ['reportedAt' => 'x', 'comment' => '', 'categories' => [18], 'reporterId' => 7, 'reporterCountryCode' => 'ZZ', 'reporterCountryName' => null];
        $page = ['total' => 26, 'page' => 2, 'count' => 1, 'perPage' => 25, 'lastPage' => 2, 'nextPageUrl' => null, 'previousPageUrl' => 'x', 'results' => [$report]];
        $host = ['ipAddress' => '203.0.113.7', 'numReports' => 3, 'mostRecentReport' => 'x', 'abuseConfidenceScore' => 45, 'countryCode' => 'ZZ'];
        $block = ['networkAddress' => '203.0.113.0', 'netmask' => '255.255.255.0', 'minAddress' => 'a', 'maxAddress' => 'b', 'numPossibleHosts' => 254, 'addressSpaceDesc' => 'c', 'reportedAddress' => [$host]];
        [$api, $transport] = $open([FakeTransport::answer(200, ['data' => $page]), FakeTransport::answer(200, ['data' => $block]), FakeTransport::answer(200, ['data' => ['results' => []] + $page])]);
        $reports = $api->reports('203.0.113.7', 30, 2);
        Check::same([26, 2, 2, [$report]], [$reports->total, $reports->page, $reports->lastPage, $reports->results]);
        Check::same('https://ip.example/api/v2/reports?ipAddress=203.0.113.7&maxAgeInDays=30&page=2&perPage=25', $transport->asked[0]['url']);
        $found = $api->checkBlock('203.0.113.0/24');
        Check::same(['203.0.113.0', '255.255.255.0', 'a', 'b', 'c', [$host]], [$found->networkAddress, $found->netmask, $found->minAddress, $found->maxAddress, $found->addressSpaceDesc, $found->reportedAddresses]);
        Check::same('https://ip.example/api/v2/check-block?network=203.0.113.0%2F24', $transport->asked[1]['url']);
        Check::same([], $api->reports('203.0.113.7')->results);
    });

    Check::that('many addresses are asked about, and many reports are sent, at once', static function () use ($open): void {
        $row = ['ipAddress' => '203.0.113.7', 'abuseConfidenceScore' => 80, 'countryCode' => 'ZZ', 'isp' => 'x', 'isAnon' => false, 'totalReports' => 1, 'malicious' => true];
        $bad = ['error' => 'Duplicate IP: …', 'input' => '203.0.113.7', 'rowNumber' => 2];
        [$api, $transport] = $open([
            FakeTransport::answer(200, ['data' => [$row, ['ipAddress' => 'nonsense', 'error' => 'No.']]]),
            FakeTransport::answer(200, ['data' => ['savedReports' => 1, 'invalidReports' => [$bad]]]),
            FakeTransport::answer(200, ['data' => [['ipAddress' => '203.0.113.7']]]),
        ]);
        [$first, $second] = $api->checkBulk(['203.0.113.7', 'nonsense']);
        Check::same([true, true, 80], [$first->isAddress, $first->malicious, $first->abuseConfidenceScore]);
        Check::same([false, false, null, 'nonsense'], [$second->isAddress, $second->malicious, $second->abuseConfidenceScore, $second->ipAddress]);
        Check::same(['POST', 'application/json'], [$transport->asked[0]['method'], $transport->asked[0]['headers']['Content-Type']]);
        $done = $api->bulkReport("203.0.113.7,18,,x\n");
        Check::same([1, [$bad]], [$done->savedReports, $done->invalidReports]);
        Check::same(1, preg_match('~^multipart/form-data; boundary=portcullis-[0-9a-f]{32}$~', $transport->asked[1]['headers']['Content-Type']));
        Check::throws(UnexpectedResponse::class, static fn () => $api->checkBulk(['203.0.113.7']));
    });

    Check::that('a duplicate is told from a spent quota, and not tried again', static function () use ($open, $fault): void {
        [$api, $transport] = $open([$fault(429, 'ip', ['Retry-After' => '1'])]);
        Check::throws(DuplicateReport::class, static fn () => $api->report('203.0.113.9', [18]));
        Check::same(1, count($transport->asked));
    });

    Check::that('each refusal has its exception', static function () use ($open, $fault): void {
        [$api] = $open([$fault(401, null)]);
        Check::throws(AuthenticationFailed::class, static fn () => $api->check('x'));
        [$api] = $open([$fault(422, 'ipAddress')]);
        $invalid = Check::throws(InvalidRequest::class, static fn () => $api->check('x'));
        Check::same(['ipAddress', 422, 'No.'], [$invalid->parameter, $invalid->status, $invalid->getMessage()]);
        foreach ([[301, ''], [404, '{}'], [500, '<html>'], [200, '{}'], [200, '{"data":{"ipAddress":"x"}}'], [200, 'null']] as [$status, $body]) {
            [$api] = $open([FakeTransport::answer($status, $body)]);
            Check::throws(UnexpectedResponse::class, static fn () => $api->check('x'));
        }
        foreach ([[], ['18'], [1.5]] as $categories) {
            [$api] = $open([]);
            Check::throws(ConfigurationError::class, static fn () => $api->report('203.0.113.9', $categories));
        }
    });

    Check::that('a key with a line end is refused', static function (): void {
        foreach (['', "pcl_x\r\nHost: evil", 'pcl x', "pcl_\xc3\xa9"] as $key) {
            Check::throws(ConfigurationError::class, static fn () => new IpReputation('https://ip.example', $key, new FakeTransport([])));
        }
    });
};
