<?php

/** Asks about addresses and reports them. */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\ConfigurationError;
use Portcullis\Http\Transport;

final class IpReputation
{
    /** An entry is at most 150 bytes. */
    private const BLACKLIST_MAX = 50_000;

    private readonly ApiCaller $caller;

    /**
     * @param string $secureUrl the origin of the reputation service, https and no path
     * @param int $waitSecondsMax how long a call may wait for a quota in all; 0: not at all
     * @param (callable(int): void)|null $sleep seconds; for tests
     * @param (callable(): int)|null $now Unix time in seconds; for tests
     */
    public function __construct(
        string $secureUrl,
        #[\SensitiveParameter] string $apiKey,
        ?Transport $transport = null,
        int $waitSecondsMax = 10,
        ?callable $sleep = null,
        ?callable $now = null,
    ) {
        $this->caller = new ApiCaller($secureUrl, $apiKey, $transport, $waitSecondsMax, $sleep, $now);
    }

    /** @param int|null $maxAgeInDays 1 to 365: count the reports of so many days */
    public function check(string $ipAddress, ?int $maxAgeInDays = null): IpCheck
    {
        $answer = $this->caller->call('/api/v2/check', [
            'ipAddress' => $ipAddress,
            'maxAgeInDays' => $maxAgeInDays === null ? null : (string) $maxAgeInDays,
        ]);
        return IpCheck::fromAnswer($answer);
    }

    /**
     * Up to 10,000 addresses at once, each one read of the quota.
     *
     * @param list<string> $ipAddresses
     * @return list<BulkCheck> in the order asked; what is no address is told so in its place
     */
    public function checkBulk(array $ipAddresses): array
    {
        $body = json_encode(array_values($ipAddresses), JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
        return BulkCheck::fromAnswer($this->caller->post('/api/v2/check-bulk', 'application/json', $body));
    }

    /**
     * The reported addresses of a network: IPv4 /16 to /32, IPv6 /48 to /128.
     *
     * @param int|null $maxAgeInDays 1 to 365; 30 when it is left out
     */
    public function checkBlock(string $network, ?int $maxAgeInDays = null): IpBlock
    {
        return IpBlock::fromAnswer($this->caller->call('/api/v2/check-block', [
            'network' => $network,
            'maxAgeInDays' => $maxAgeInDays === null ? null : (string) $maxAgeInDays,
        ]));
    }

    /** @param int $perPage 1 to 100 */
    public function reports(string $ipAddress, ?int $maxAgeInDays = null, int $page = 1, int $perPage = 25): ReportPage
    {
        return ReportPage::fromAnswer($this->caller->call('/api/v2/reports', [
            'ipAddress' => $ipAddress,
            'maxAgeInDays' => $maxAgeInDays === null ? null : (string) $maxAgeInDays,
            'page' => (string) $page,
            'perPage' => (string) $perPage,
        ]));
    }

    /**
     * What to block, the most certain first; one read of the quota for each 1,000 entries.
     *
     * @param int|null $confidenceMinimum 25 to 100; everything malicious when it is left out
     * @param int $limit 50,000 at most: more is too long for one answer here, use a feed
     * @param list<string> $onlyCountries two-letter codes
     * @param list<string> $exceptCountries two-letter codes; not with the former
     * @param int|null $ipVersion 4 or 6; both when it is left out
     */
    public function blacklist(
        ?int $confidenceMinimum = null,
        int $limit = 10_000,
        array $onlyCountries = [],
        array $exceptCountries = [],
        ?int $ipVersion = null,
    ): Blacklist {
        if ($limit < 1 || $limit > self::BLACKLIST_MAX) {
            throw new ConfigurationError('A blacklist has 1 to ' . self::BLACKLIST_MAX . ' entries here.');
        }
        return Blacklist::fromAnswer($this->caller->call('/api/v2/blacklist', [
            'confidenceMinimum' => $confidenceMinimum === null ? null : (string) $confidenceMinimum,
            'limit' => (string) $limit,
            'onlyCountries' => $onlyCountries === [] ? null : implode(',', $onlyCountries),
            'exceptCountries' => $exceptCountries === [] ? null : implode(',', $exceptCountries),
            'ipVersion' => $ipVersion === null ? null : (string) $ipVersion,
        ]));
    }

    /**
     * Many reports in one file, at most 10,000 rows and 8 MiB; one write for each 100 rows.
     *
     * @param string $csv the file's text: `IP,Categories,ReportDate,Comment`
     */
    public function bulkReport(string $csv): BulkReport
    {
        // Random: no file can hold it.
        $boundary = 'portcullis-' . bin2hex(random_bytes(16));
        $body = "--$boundary\r\nContent-Disposition: form-data; name=\"csv\"; filename=\"report.csv\"\r\n"
            . "Content-Type: text/csv\r\n\r\n$csv\r\n--$boundary--\r\n";
        $type = "multipart/form-data; boundary=$boundary";
        return BulkReport::fromAnswer($this->caller->post('/api/v2/bulk-report', $type, $body));
    }

    /**
     * Comes back when the report is on the service's disk.
     *
     * @param list<int> $categories 1 to 23, at most 30 of them
     * @param string $comment seen by everybody: no names, no passwords
     */
    public function report(
        string $ipAddress,
        array $categories,
        string $comment = '',
        ?\DateTimeInterface $at = null,
    ): IpReport {
        if ($categories === [] || array_filter($categories, 'is_int') !== $categories) {
            throw new ConfigurationError('Categories are whole numbers, and at least one is needed.');
        }
        $answer = $this->caller->call('/api/v2/report', [], [
            'ip' => $ipAddress,
            'categories' => implode(',', $categories),
            'comment' => $comment === '' ? null : $comment,
            'timestamp' => $at?->format(\DateTimeInterface::ATOM),
        ]);
        return IpReport::fromAnswer($answer);
    }

    /** Of the last answer; null before the first one. */
    public function quota(): ?Quota
    {
        return $this->caller->quota();
    }
}
